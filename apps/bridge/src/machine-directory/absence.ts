/**
 * Whether something that a list should name is gone. That may be left out once by mistake, and a gateway may answer
 * with an empty list; it is gone when another list does not name it either, not before the next is due: a command for a
 * machine that is not listed has the list read at any time.
 */
export class Absence {
  /** When the first list in a row did not name it, in monotonic milliseconds; null when the latest did. */
  private sinceMs: number | null = null;

  /** @param refreshSeconds after which a list is read again */
  constructor(private readonly refreshSeconds: number) {}

  /** The latest list names it. */
  end(): void {
    this.sinceMs = null;
  }

  /** The latest list does not name it; returns whether it is gone. */
  isLasting(nowMs: number): boolean {
    this.sinceMs ??= nowMs;
    return nowMs - this.sinceMs >= this.refreshSeconds * 1000;
  }
}
