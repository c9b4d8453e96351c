/** Bounds of one evaluation. */
export interface Limits {
  /** Time of the evaluation. A reasonable expression takes 1.2 s for a document of 1 MiB on two busy cores. */
  deadlineMs: number;
  /** Depth of recursion. */
  levels: number;
  /** Entries of a list. */
  entries: number;
  /** Heap of the process; a document of 1 MiB needed less than 64. */
  heapMiB: number;
  /** Characters of the result as JSON, which the parent process has to parse. */
  resultLength: number;
}

export const LIMITS: Limits = {
  deadlineMs: 10_000,
  levels: 500,
  entries: 100_000,
  heapMiB: 256,
  resultLength: 8_388_608,
};
