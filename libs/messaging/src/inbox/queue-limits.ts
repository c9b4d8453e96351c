/** How much of a partition may be unfinished before nothing more of it is fetched. */
export interface QueueLimits {
  /** Messages, and bytes of them, that have been fetched. */
  maxUnfinished: number;
  maxUnfinishedBytes: number;
  /** How far messages may be finished ahead of the lowest unfinished one: so many are delivered again after a crash. */
  maxSpan: number;
}

const MIB = 1024 * 1024;

export const QUEUE_LIMITS: QueueLimits = {
  maxUnfinished: 2500,
  maxUnfinishedBytes: 8 * MIB,
  maxSpan: 250_000,
};
