import { PollLog } from '../states/poll-log.mjs';

/** Who read the state of which machine and when, and whether two calls for a machine overlapped. */
export class PollAudit {
  #log = new PollLog();
  #callers = [];
  #inFlight;
  #latestMs;
  #overlaps = 0;
  #activityLogs = 0;

  constructor(machines) {
    this.#inFlight = new Uint8Array(machines);
    this.#latestMs = new Float64Array(machines).fill(-Infinity);
  }

  /** `shownChanges` is undefined for a call that reads the activity log. Yields a function to call with the answer. */
  begin({ machine, shownChanges }, token) {
    if (this.#inFlight[machine] > 0) this.#overlaps += 1;
    this.#inFlight[machine] += 1;
    const row = shownChanges === undefined ? null : this.#note(machine, shownChanges, token);
    if (row === null) this.#activityLogs += 1;
    return () => {
      this.#inFlight[machine] -= 1;
      if (row !== null) this.#log.answeredMs[row] = Date.now();
    };
  }

  /**
   * `machinesPolled`: how many machines were polled since `polledSinceMs`; `callers`: the tokens, by their index in the
   * log.
   */
  report(polledSinceMs) {
    return {
      polls: this.#log.length,
      activityLogs: this.#activityLogs,
      pollOverlaps: this.#overlaps,
      machinesPolled: this.#latestMs.reduce((sum, ms) => sum + (ms >= polledSinceMs ? 1 : 0), 0),
      callers: this.#callers,
    };
  }

  log() {
    return this.#log.toBuffer();
  }

  #note(machine, shownChanges, token) {
    const arrivedMs = Date.now();
    this.#latestMs[machine] = arrivedMs;
    return this.#log.add({ machine, caller: this.#callerOf(token), shownChanges, arrivedMs });
  }

  #callerOf(token) {
    const known = this.#callers.indexOf(token);
    return known >= 0 ? known : this.#callers.push(token) - 1;
  }
}
