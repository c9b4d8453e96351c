// The behaviour of the machines in the service's stub, which the bench knows without asking: each machine has a fixed
// place in the service's minute, and goes to its next state on request.

/** One machine in twenty changes on a request: those whose index modulo twenty is `first`. */
export const CHANGING_ONE_IN = 20;

const STATES = ['OPERATING', 'IDLE', 'OFF'];
// the multiples of it are evenly spread over the unit interval, for any number of machines
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

export function stateAfter(changes) {
  return STATES[changes % STATES.length];
}

/** When the service last updated the machine's state (`astUpdateTime`), in epoch seconds. */
export function latestUpdateSeconds(machine, atSeconds, updateSeconds) {
  const phase = Math.floor(((machine * GOLDEN_RATIO) % 1) * updateSeconds);
  return Math.floor((atSeconds - phase) / updateSeconds) * updateSeconds + phase;
}

/** How many of the machines with indices from 0 on have the rest `first`. */
export function changingOf(machines, first) {
  return Math.ceil((machines - first) / CHANGING_ONE_IN);
}

/** How often a machine has changed, from the `first` of every request. */
export function changesOf(machine, firsts) {
  return firsts.filter((first) => machine % CHANGING_ONE_IN === first).length;
}
