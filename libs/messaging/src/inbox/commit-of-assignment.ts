/**
 * Ties a commit to the assignment it was made under. kafkajs repeats one that has failed, by then perhaps
 * as a member of another generation: it would set back what the partition's new owner has committed.
 */
export class CommitOfAssignment {
  private assignments = 0;
  /** Undefined while none of ours is under way: kafkajs makes one by itself where an offset is out of range. */
  private committingUnder: number | undefined;
  private isTaken = false;

  assignedAnew(): void {
    this.assignments += 1;
  }

  /** Kafka has taken the one under way. */
  taken(): void {
    this.isTaken = true;
  }

  /**
   * One at a time.
   *
   * @throws also when the commit resolves and {@link taken} was not told: a consumer that ends gives up in silence
   */
  async make(commit: () => Promise<void>): Promise<void> {
    this.committingUnder = this.assignments;
    this.isTaken = false;
    try {
      await commit();
    } finally {
      this.committingUnder = undefined;
    }
    this.assertTaken();
  }

  private assertTaken(): void {
    if (!this.isTaken) throw new Error('the consumer ended before its offsets were committed');
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
