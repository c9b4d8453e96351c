/** Whether calls of one flow may begin, as far as operators have a say; asked before each call. */
export class FlowHold {
  isHeld = true;
  private readonly released: (() => void)[] = [];

  /** Calls back each time that calls may begin again. */
  onRelease(begin: () => void): void {
    this.released.push(begin);
  }

  set(isHeld: boolean): void {
    const wasHeld = this.isHeld;
    this.isHeld = isHeld;
    if (wasHeld && !isHeld) for (const begin of this.released) begin();
  }
}
