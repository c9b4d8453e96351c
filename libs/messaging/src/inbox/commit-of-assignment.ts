/**
 * Ties a commit to the assignment it was made under. kafkajs repeats one that has failed, by then perhaps
 * as a member of another generation: it would set back what the partition's new owner has committed.
 */
export class CommitOfAssignment {
  private assignments = 0;
  /** Undefined while none of ours is under way: kafkajs makes one by itself where an offset is out of range. */
  private committingUnder: number | undefined;

  assignedAnew(): void {
    this.assignments += 1;
  }

  /** One at a time. */
  async make(commit: () => Promise<void>): Promise<void> {
    this.committingUnder = this.assignments;
    try {
      await commit();
    } finally {
      this.committingUnder = undefined;
    }
  }

  /**
   * For each try to ask.
   *
   * @throws an error after which kafkajs does not try again
   */
  assertUpToDate(): void {
    if (this.committingUnder === undefined || this.committingUnder === this.assignments) return;
    const error = new Error('the partitions were assigned anew before they could be committed');
    throw Object.assign(error, { retriable: false });
  }
}
