/**
 * A 403 that a call for several machines was answered. It is the fault of one of them, or of the token;
 * each that goes well afterwards was not it, and shows that the token was not either.
 */
export class RefusalInCompany {
  private readonly suspects: Set<string>;

  /** @param sinceCall the latest call to have begun when the 403 came */
  constructor(
    machineIds: Iterable<string>,
    readonly sinceCall: number,
  ) {
    this.suspects = new Set(machineIds);
  }

  /** A call for the machine that began after the 403 has gone well. */
  clear(machineId: string): void {
    this.suspects.delete(machineId);
  }

  /** Whether nobody but the machine can have been at fault. */
  leaves(machineId: string): boolean {
    return this.suspects.size === 1 && this.suspects.has(machineId);
  }
}
