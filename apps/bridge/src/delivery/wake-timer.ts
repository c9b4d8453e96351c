import { afterRealMs, realNowMs } from '#libs/clock';

/** Timers overflow far above this; who wakes too early looks at what is due and sleeps again. */
const LONGEST_SLEEP_MS = 60_000;

/** One timer for all that waits: the earliest time asked for counts. */
export class WakeTimer {
  private cancel: () => void = () => undefined;
  private atMs = Infinity;

  /** @param onWake looks at what is due, and asks for the next time */
  constructor(private readonly onWake: () => void) {}

  /** Asks to be woken at that real time, in milliseconds, or somewhat before. */
  wakeAt(atMs: number): void {
    if (atMs >= this.atMs) return;
    this.cancel();
    this.atMs = atMs;
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(1, atMs - realNowMs()));
    this.cancel = afterRealMs(sleepMs, () => {
      this.atMs = Infinity;
      this.onWake();
    });
  }
}
