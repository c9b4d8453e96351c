/** How many calls are made where one would do, so that fewer share the fate of a bad machine. */
const SIDE_BY_SIDE = 4;
/** So few machines are not worth a further call. */
const FEW = 8;
/** How long a call says what the flow is like. */
const TELLING_MS = 1000;
/** So many calls within that time make a flow that keeps coming; fewer may be of some that came on their own. */
const STEADY_CALLS = 10;

/** Tells over how many calls what has gathered is spread, where it does not fill one. */
export class CallSpread {
  /** When the latest calls began, oldest first. */
  private readonly latestMs = Array<number>(STEADY_CALLS).fill(-Infinity);
  private latestFullMs = -Infinity;

  begun(nowMs: number, isFull: boolean): void {
    this.latestMs.shift();
    this.latestMs.push(nowMs);
    if (isFull) this.latestFullMs = nowMs;
  }

  /**
   * One where commands come so fast that calls fill up, for calls are what keeps them waiting then; and one for
   * those that come on their own: a slow call holds up nothing else. In between, up to four.
   */
  callsFor(machines: number, nowMs: number): number {
    const isFast = nowMs - this.latestFullMs < TELLING_MS;
    const [oldestMs = -Infinity] = this.latestMs;
    const isSteady = nowMs - oldestMs < TELLING_MS;
    if (isFast || !isSteady) return 1;
    return Math.min(SIDE_BY_SIDE, Math.max(1, Math.ceil(machines / FEW)));
  }
}
