import { readDisplayName } from './display-name.js';
import { type FieldReader } from './field-reader.js';
import { type MachineInfo } from './machine-data.js';

/**
 * Reads the answer of getMachineInfo: a bare list or `{machines: […]}`.
 *
 * What identifies (machine, factory) must be there; names may be missing.
 *
 * @throws MalformedField
 */
export function parseMachineInfo(answer: FieldReader): MachineInfo[] {
  return answer.list('machines').map((entry) => {
    const machineId = entry.field('machineUniqueId').text();
    return {
      machineId,
      displayName: readDisplayName(entry.field('machineDisplayName').value) ?? machineId,
      factoryId: entry.field('factoryId').text(),
      factoryName: entry.field('factoryName').textOr(''),
    };
  });
}
