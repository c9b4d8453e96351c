/** A message is hardly older than the last so many orders; the memory they take stays a few megabytes. */
const REMEMBERED = 50_000;

/** When finished orders last changed: an older message that comes late must not bring one back. */
export class FinishedOrders {
  private readonly changes = new Map<string, number>();

  /** Undefined for an order that is not finished, or was forgotten as the one finished longest ago. */
  changedAt(orderId: string): number | undefined {
    return this.changes.get(orderId);
  }

  add(orderId: string, changedAt: number): void {
    // A map keeps the order of insertion: taking the order out first makes it the youngest.
    this.changes.delete(orderId);
    this.changes.set(orderId, changedAt);
    if (this.changes.size <= REMEMBERED) return;
    const [oldest] = this.changes.keys();
    if (oldest !== undefined) this.changes.delete(oldest);
  }

  delete(orderId: string): void {
    this.changes.delete(orderId);
  }
}
