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
  // Of a hundred thousand machines of one factory each would keep the factory's name for itself.
  const texts = new Map<string, string>();
  const shared = (text: string): string => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  return readEntries(answer.list('machines'), (entry) => readMachine(entry, shared), readMachineId);
}

function readMachine(entry: FieldReader, shared: (text: string) => string): MachineInfo {
  const machineId = readMachineId(entry);
  return {
    machineId,
    displayName: readDisplayName(entry.field('machineDisplayName').value) ?? machineId,
    factoryId: shared(entry.field('factoryId').text()),
    factoryName: shared(readName(entry.field('factoryName'), '')),
  };
}

function readMachineId(entry: FieldReader): string {
  return entry.field('machineUniqueId').text();
}
