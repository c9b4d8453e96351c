// What the machines of the service's stub do, so that the bench knows it without asking: each has a place of its own
// in the service's minute, and goes from one state to the next when it is asked to.

/** Of the machines that are made to change: one in twenty, those whose index leaves the same rest. */
export const CHANGING_ONE_IN = 20;

const STATES = ['OPERATING', 'IDLE', 'OFF'];
// multiples of it lie evenly in the unit interval, however many there are
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

export function stateAfter(changes) {
  return STATES[changes % STATES.length];
}

/** When the service last updated the machine's state (`astUpdateTime`), in epoch seconds. */
export function latestUpdateSeconds(machine, atSeconds, updateSeconds) {
  const phase = Math.floor(((machine * GOLDEN_RATIO) % 1) * updateSeconds);
  return Math.floor((atSeconds - phase) / updateSeconds) * updateSeconds + phase;
}

/** How many of the machines with indices from 0 on leave the rest `first`. */
export function changingOf(machines, first) {
  return Math.ceil((machines - first) / CHANGING_ONE_IN);
}

/** How often a machine has been made to change, by the `first` of every request. */
export function changesOf(machine, firsts) {
  return firsts.filter((first) => machine % CHANGING_ONE_IN === first).length;
}
