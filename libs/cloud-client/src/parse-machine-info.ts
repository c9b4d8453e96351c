import { readDisplayName, readName } from './display-name.js';
import { type FieldReader } from './field-reader.js';
import { type ListEntries, readEntries } from './list-entries.js';
import { type MachineInfo } from './machine-data.js';

/**
 * Reads the answer of getMachineInfo: a bare list or `{machines: […]}`.
 *
 * What identifies (machine, factory) must be there, or the entry is incomplete; names may be missing.
 *
 * @throws MalformedField
 */
export function parseMachineInfo(answer: FieldReader): ListEntries<MachineInfo> {
  return readEntries(answer.list('machines'), readMachine, readMachineId);
}

function readMachine(entry: FieldReader): MachineInfo {
  const machineId = readMachineId(entry);
  return {
    machineId,
    displayName: readDisplayName(entry.field('machineDisplayName').value) ?? machineId,
    factoryId: entry.field('factoryId').text(),
    factoryName: readName(entry.field('factoryName'), ''),
  };
}

function readMachineId(entry: FieldReader): string {
  return entry.field('machineUniqueId').text();
}
