import { readName } from './display-name.js';
import { type FieldReader } from './field-reader.js';
import { type ListEntries, readEntries } from './list-entries.js';
import { type ClassificationReason } from './machine-data.js';

/**
 * Reads the answer of MachineClassification: `{reasons: […]}` or a bare list. An entry without a code is
 * incomplete; the name may be missing.
 *
 * @throws MalformedField
 */
export function parseClassificationReasons(answer: FieldReader): ListEntries<ClassificationReason> {
  return readEntries(answer.list('reasons'), readReason, readCode);
}

function readReason(entry: FieldReader): ClassificationReason {
  const code = readCode(entry);
  return { name: readName(entry.field('name'), code), code };
}

function readCode(entry: FieldReader): string {
  return entry.field('code').text();
}
