/** A message is hardly older than the last so many orders of its partition; they take a few megabytes. */
const REMEMBERED = 50_000;

/** In which order orders were finished, so that those finished longest ago can be forgotten. */
export class FinishedOrders {
  /** A set keeps the order of insertion. */
  private readonly orderIds: Set<string>;

  /** @param oldestFirst those known to be finished */
  constructor(
    oldestFirst: Iterable<string> = [],
    private readonly remembered = REMEMBERED,
  ) {
    this.orderIds = new Set(oldestFirst);
  }

  finished(orderId: string): void {
    // Taking the order out first makes it the youngest.
    this.orderIds.delete(orderId);
    this.orderIds.add(orderId);
  }

  /** It is open again, or forgotten. */
  delete(orderId: string): void {
    this.orderIds.delete(orderId);
  }

  /** Those finished longest ago, as far as they are more than are remembered. */
  excess(): string[] {
    const excess: string[] = [];
    for (const orderId of this.orderIds) {
      if (this.orderIds.size - excess.length <= this.remembered) break;
      excess.push(orderId);
    }
    return excess;
  }
}
