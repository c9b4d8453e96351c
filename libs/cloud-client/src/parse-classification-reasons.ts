import { type FieldReader } from './field-reader.js';
import { type ClassificationReason } from './machine-data.js';

/**
 * Reads the answer of MachineClassification: `{reasons: […]}` or a bare list.
 *
 * @throws MalformedField
 */
export function parseClassificationReasons(answer: FieldReader): ClassificationReason[] {
  return answer.list('reasons').map((entry) => {
    const code = entry.field('code').text();
    return { name: entry.field('name').textOr(code), code };
  });
}
