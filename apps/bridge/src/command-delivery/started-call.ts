/** A call that has begun, and what was known by then. Numbers count the flow's calls in the order in which they begin. */
export interface StartedCall {
  readonly number: number;
  /** The highest number of a call that had gone well by then; 0 when none had. */
  readonly latestApplied: number;
  /** Real milliseconds. */
  readonly startedMs: number;
}
