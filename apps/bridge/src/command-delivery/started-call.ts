/** What is known of a flow's calls at the moment. */
export interface FlowCalls {
  /** The number of the latest call to have begun. */
  readonly latestBegun: number;
  /** When the latest call that has gone well began, in real milliseconds; -Infinity while none has. */
  readonly latestAppliedMs: number;
  /** The same of the latest that was for this machine, alone or with others; of the last minute. */
  latestAppliedMsOf(machineId: string): number;
  /** Whether a call for another machine, by itself, was answered 403 since then. */
  wasAnotherForbidden(machineId: string, sinceMs: number): boolean;
}

/** A call that has begun, and what was known by then. Numbers count the flow's calls in the order in which they begin. */
export interface StartedCall {
  readonly number: number;
  /** The highest number of a call that had gone well by then; 0 when none had. */
  readonly latestApplied: number;
  /** Real milliseconds. */
  readonly startedMs: number;
}
