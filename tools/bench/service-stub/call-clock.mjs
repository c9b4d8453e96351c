// timers count whole milliseconds and fire at the end of theirs, or a little later
const TIMER_IS_LATE_MS = 0.5;

/**
 * Calls back a fixed time later, to about half a millisecond.
 *
 * All calls take equally long, so they are due in the order in which they came. One timer, set for the first of them,
 * serves a hundred in flight; calls due within half a millisecond of the first go with it.
 */
export class CallClock {
  #delayMs;
  #waiting = [];
  #timer;

  constructor(delayMs) {
    this.#delayMs = delayMs;
  }

  later(callBack) {
    this.#waiting.push({ dueMs: performance.now() + this.#delayMs, callBack });
    if (this.#timer === undefined) this.#arm();
  }

  #ring = () => {
    const nowMs = performance.now();
    let due = 0;
    while (due < this.#waiting.length && this.#waiting[due].dueMs <= nowMs + 0.5) due += 1;
    for (const { callBack } of this.#waiting.splice(0, due)) callBack();
    this.#arm();
  };

  #arm() {
    const [next] = this.#waiting;
    const waitMs = next && next.dueMs - performance.now() - TIMER_IS_LATE_MS;
    this.#timer = next && setTimeout(this.#ring, Math.max(1, Math.round(waitMs)));
  }
}
