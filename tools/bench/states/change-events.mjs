import { machineIdOf, machineIndexOf } from '../load.mjs';
import { latestUpdateSeconds, stateAfter } from './plant.mjs';

const CHANGED = 'machine.state.changed.v1';
const CORRECTED = 'machine.state.corrected.v1';

/** The fields of a record of `machine.state-changes.v1` that the bench needs; `atMs` is the broker's time. */
export function readEvent({ headers, value, timestamp }) {
  const { machineId, state } = JSON.parse(value);
  return {
    machine: machineIndexOf(machineId),
    type: headers.ce_type.toString(),
    sequence: Number(headers.ce_sequence),
    state,
    atMs: Number(timestamp),
  };
}

export function isChange({ type }) {
  return type === CHANGED;
}

export function isCorrection({ type }) {
  return type === CORRECTED;
}

/**
 * Faults in the events of all machines, in the order of their partition. A machine must have one event for its first
 * state and one for each of its `changes(machine)`, numbered without a gap, and no loss. A correction is not a fault.
 * Empty if there is none.
 */
export function faultsOfEvents(events, { machines, changes }) {
  const found = new Map();
  const fault = (what, machine) => {
    const { count = 0, first = machine } = found.get(what) ?? {};
    found.set(what, { count: count + 1, first });
  };
  const sequences = new Uint32Array(machines);
  const published = new Uint16Array(machines);
  for (const event of events) {
    const { machine, type, sequence, state } = event;
    if (sequence !== sequences[machine] + 1) fault('events out of sequence', machine);
    sequences[machine] = sequence;
    if (isChange(event)) {
      if (state !== stateAfter(published[machine])) fault('events of the wrong state', machine);
      published[machine] += 1;
    } else if (!isCorrection(event)) fault(`events of type ${type}`, machine);
  }
  published.forEach((count, machine) => {
    const expected = 1 + changes(machine);
    if (count < expected) fault('machines with too few changes', machine);
    if (count > expected) fault('machines with too many changes', machine);
  });
  return [...found].map(([what, { count, first }]) => {
    return `${count} ${what}, such as ${machineIdOf(first)}`;
  });
}

/**
 * How long each change after `fromMs` took to be published, in seconds: `sinceAnswer` from the answer that first showed
 * it to the bridge, `sinceUpdate` from the update that made it visible.
 */
export function publicationSeconds(events, polls, { fromMs, updateSeconds }) {
  const shownChanges = firstShowing(polls);
  const seconds = { sinceAnswer: [], sinceUpdate: [] };
  const published = new Map();
  for (const { machine, atMs } of events.filter(isChange)) {
    const number = published.get(machine) ?? 0;
    published.set(machine, number + 1);
    const row = shownChanges.get(keyOf(machine, number));
    if (number === 0 || row === undefined || atMs < fromMs) continue;
    const arrivedSeconds = polls.arrivedMs[row] / 1000;
    const update = latestUpdateSeconds(machine, arrivedSeconds, updateSeconds);
    seconds.sinceAnswer.push((atMs - polls.answeredMs[row]) / 1000);
    seconds.sinceUpdate.push(atMs / 1000 - update);
  }
  return seconds;
}

/** The row of the poll that first showed each change. */
function firstShowing({ length, machine, shownChanges }) {
  const rows = new Map();
  for (let row = 0; row < length; row += 1) {
    const key = keyOf(machine[row], shownChanges[row]);
    if (shownChanges[row] > 0 && !rows.has(key)) rows.set(key, row);
  }
  return rows;
}

function keyOf(machine, number) {
  return machine * 1000 + number;
}
