import { CHANGING_ONE_IN, latestUpdateSeconds, stateAfter } from '../states/plant.mjs';

// so long ago that no activity log goes back to its beginning
const FIRST_STATE_SECONDS = 8 * 3600;

/** The states of all machines, as the service calculates them once in `updateSeconds`; times are epoch seconds. */
export class MachineTimelines {
  #updateSeconds;
  #machines;
  #beganSeconds;
  // for the few machines that were changed: the update of each change
  #changes = new Map();

  constructor({ machines, updateSeconds }) {
    this.#machines = machines;
    this.#updateSeconds = updateSeconds;
    this.#beganSeconds = Math.floor(Date.now() / 1000) - FIRST_STATE_SECONDS;
  }

  /** Gives one machine in twenty, those of rest `first`, another state at its next update. */
  change({ first }, nowSeconds) {
    for (let machine = first; machine < this.#machines; machine += CHANGING_ONE_IN) {
      const updates = this.#changes.get(machine) ?? [];
      const next = this.#latestUpdate(machine, nowSeconds) + this.#updateSeconds;
      this.#changes.set(machine, [
        ...updates,
        Math.max(next, (updates.at(-1) ?? 0) + this.#updateSeconds),
      ]);
    }
  }

  /** The body of getMachineState, and how many changes it shows. */
  state(machine, nowSeconds) {
    const astUpdateTime = this.#latestUpdate(machine, nowSeconds);
    const starts = this.#startsAt(machine, astUpdateTime);
    const shownChanges = starts.length - 1;
    const durationInMinutes = minutes(astUpdateTime - starts[shownChanges]);
    return {
      shownChanges,
      body: { machineState: stateAfter(shownChanges), durationInMinutes, astUpdateTime },
    };
  }

  /** The body of MachineActivityLog: whole periods that overlap the window. */
  activity(machine, { startTime, endTime }, nowSeconds) {
    const latest = this.#latestUpdate(machine, nowSeconds);
    const starts = this.#startsAt(machine, latest);
    return starts
      .map((start, index) => period(start, starts[index + 1] ?? latest, stateAfter(index)))
      .filter((entry) => entry.startTime < endTime && entry.endTime > startTime);
  }

  /** A state that an update shows has lasted since the previous update. */
  #startsAt(machine, latestUpdate) {
    const updates = this.#changes.get(machine) ?? [];
    const past = updates.filter((update) => update <= latestUpdate);
    const first = this.#latestUpdate(machine, this.#beganSeconds);
    return [first, ...past.map((update) => update - this.#updateSeconds)];
  }

  #latestUpdate(machine, atSeconds) {
    return latestUpdateSeconds(machine, atSeconds, this.#updateSeconds);
  }
}

function period(startTime, endTime, machineState) {
  return { startTime, endTime, machineState, durationInMinutes: minutes(endTime - startTime) };
}

function minutes(seconds) {
  return Math.round(seconds / 60);
}
