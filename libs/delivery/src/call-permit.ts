/** What a call is made by, from its slot until it is sent. */
export interface CallPermit {
  /** Aborts when the call is to be cut off. */
  readonly signal: AbortSignal;
  /**
   * Why the call may not begin any more; undefined while it may. For whoever sends it to ask last of all:
   * it may have waited for its turn or a connection meanwhile, or the whole process may have been suspended.
   */
  readonly objection: () => Error | undefined;
}
