import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import { type FieldReader } from './field-reader.js';
import { type MachineStateReading } from './machine-data.js';

/** Reads `machineState` of an answer or of an activity log entry. */
export function readMachineState(entry: FieldReader): MachineState {
  return entry.field('machineState').oneOf(MACHINE_STATES);
}

/**
 * Reads the answer of getMachineState. The interface spells the time `astUpdateTime`; the full word
 * is accepted too.
 *
 * @throws MalformedField
 */
export function parseMachineState(answer: FieldReader): MachineStateReading {
  return {
    state: readMachineState(answer),
    durationInMinutes: answer.field('durationInMinutes').wholeNumber(),
    lastUpdateTime: answer.field('astUpdateTime', 'lastUpdateTime').epochSeconds(),
  };
}
