import { type FieldReader } from './field-reader.js';
import { type ActivityLogEntry } from './machine-data.js';
import { readMachineState } from './parse-machine-state.js';

/**
 * Reads the answer of MachineActivityLog: a bare list or `{activity: […]}`, in the order given.
 *
 * One malformed entry makes the whole log malformed: leaving it out would look like a gap or like a
 * state that went on, and history would be derived from it.
 *
 * @throws MalformedField
 */
export function parseActivityLog(answer: FieldReader): ActivityLogEntry[] {
  return Array.from(answer.list('activity'), readEntry);
}

function readEntry(entry: FieldReader): ActivityLogEntry {
  const startTime = entry.field('startTime').epochSeconds();
  const end = entry.field('endTime');
  const endTime = end.epochSeconds();
  if (endTime < startTime) end.fail('a time not before startTime');
  return {
    startTime,
    endTime,
    state: readMachineState(entry),
    durationInMinutes: entry.field('durationInMinutes').wholeNumber(),
  };
}
