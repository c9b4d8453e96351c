/**
 * The writes of each machine, and whether they obeyed the delivery rules: one call at a time for a machine, in the
 * order of its messages. A write is `{machineId, ordinal}`; the ordinals of a machine rise.
 */
export class WriteAudit {
  #busy = new Set();
  #last = new Map();
  #inFlight = 0;
  #tally = { calls: 0, machines: 0, overlaps: 0, disorders: 0, repeats: 0, peakInFlight: 0 };
  #firstMs = null;
  #lastMs = null;

  begin(writes) {
    this.#inFlight += 1;
    this.#tally.peakInFlight = Math.max(this.#tally.peakInFlight, this.#inFlight);
    for (const { machineId, ordinal } of writes) {
      if (this.#busy.has(machineId)) this.#tally.overlaps += 1;
      const last = this.#last.get(machineId) ?? -1;
      if (ordinal < last) this.#tally.disorders += 1;
      if (ordinal === last) this.#tally.repeats += 1;
      this.#busy.add(machineId);
    }
  }

  end(writes, accepted) {
    this.#inFlight -= 1;
    for (const { machineId, ordinal } of writes) {
      this.#busy.delete(machineId);
      if (accepted) this.#last.set(machineId, ordinal);
    }
    if (!accepted) return;
    this.#tally.calls += 1;
    this.#tally.machines += writes.length;
    this.#lastMs = performance.now();
    this.#firstMs ??= this.#lastMs;
  }

  /** Accepted calls, the machines that they set, the broken rules, and the time from the first call to the last. */
  report() {
    return { ...this.#tally, seconds: (this.#lastMs - this.#firstMs) / 1000 };
  }

  /** The ordinal last accepted, by machine. */
  lasts() {
    return Object.fromEntries(this.#last);
  }
}
