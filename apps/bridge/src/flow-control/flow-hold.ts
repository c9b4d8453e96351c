/** Whether calls of one flow may begin, as far as operators have a say; asked before each call. */
export class FlowHold {
  private readonly released: (() => void)[] = [];
  private held = true;

  get isHeld(): boolean {
    return this.held;
  }

  /** Calls back each time that calls may begin again. */
  onRelease(begin: () => void): void {
    this.released.push(begin);
  }

  set(isHeld: boolean): void {
    const wasHeld = this.held;
    this.held = isHeld;
    if (wasHeld && !isHeld) for (const begin of this.released) begin();
  }
}
