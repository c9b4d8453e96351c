const TENTHS = 1000;

/** Durations up to 100 ms, counted by tenths of a millisecond; longer ones count as 100 ms. */
export class LatencyHistogram {
  #counts = new Uint32Array(TENTHS + 1);
  #total = 0;

  add(durationMs) {
    this.#counts[Math.min(TENTHS, Math.round(durationMs * 10))] += 1;
    this.#total += 1;
  }

  /** In milliseconds; null before the first duration. */
  median() {
    let seen = 0;
    for (let tenths = 0; tenths <= TENTHS; tenths += 1) {
      seen += this.#counts[tenths];
      if (seen * 2 > this.#total) return tenths / 10;
    }
    return null;
  }
}
