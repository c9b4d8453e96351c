/**
 * Whether a partition's log is still the one it was. A topic that was made anew, or truncated, holds other messages
 * under old offsets.
 */
export class LogContinuity {
  /** The offset whose commit Kafka last acknowledged. */
  private acknowledged = 0;
  /** No fetch begins below this while the topic is the one it was. */
  private floor = 0;

  committed(offset: number): void {
    this.acknowledged = offset;
  }

  /** The partition has stayed here: it is fetched from what was committed by now. */
  assignedAgain(): void {
    this.floor = this.acknowledged;
  }

  /**
   * Whether a fetch that begins there is of another log. It may begin below what is committed by now: where it begins
   * is settled before it is under way, and commits go on meanwhile.
   *
   * @param highWatermark the end of the partition
   * @param fetchedEnd behind all that has been fetched before
   */
  isBrokenBy(first: number, highWatermark: number, fetchedEnd: number): boolean {
    return first < this.floor || (first < fetchedEnd && highWatermark < fetchedEnd);
  }

  /** A fetch has begun there. */
  fetched(first: number): void {
    if (first >= this.acknowledged) this.floor = this.acknowledged;
  }
}
