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

/** At half of what pauses a partition it is resumed. */
const RESUME_AT = 0.5;

/** Whether a partition is to be paused, or to stay so. */
export function isFull(
  limits: QueueLimits,
  { size, bytes, span }: { size: number; bytes: number; span: number },
  isPaused: boolean,
): boolean {
  const share = isPaused ? RESUME_AT : 1;
  return (
    size >= limits.maxUnfinished * share ||
    bytes >= limits.maxUnfinishedBytes * share ||
    span >= limits.maxSpan * share
  );
}
