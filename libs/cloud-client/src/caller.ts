/** On whose behalf a call is made. */
export interface Caller {
  /** Aborts when nothing is to come of the call any more; the call rejects with its reason. */
  readonly signal: AbortSignal | undefined;
  /**
   * Asked right before anything is written to the service, however long the request has waited for its
   * turn, a token or a connection: a process may have been suspended meanwhile. A request that is
   * objected to is not sent, and the call rejects with the objection. Without it test/chaos/group.chaos-spec.ts fails: a
   * process that was suspended while connections were opening sends what waited for them.
   */
  readonly objection?: () => Error | undefined;
}
