/** What an evaluation may use. */
export interface Limits {
  /** From when it begins. A sound expression takes 1.2 s for a document of 1 MiB on two busy cores. */
  deadlineMs: number;
  /** How deep it may recurse. */
  levels: number;
  /** Entries of a list. */
  entries: number;
  /** Heap of the process; a document of 1 MiB was found to need less than 64. */
  heapMiB: number;
  /** Characters of the result as JSON, which the process that asked has to parse. */
  resultLength: number;
}

export const LIMITS: Limits = {
  deadlineMs: 10_000,
  levels: 500,
  entries: 100_000,
  heapMiB: 256,
  resultLength: 8_388_608,
};
