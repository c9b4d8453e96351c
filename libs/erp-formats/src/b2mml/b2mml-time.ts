import { parsed, rejected, type Parsed } from '#libs/contracts';

import { readDateTime } from '../time/local-time.js';
import { pathOf, readText, type DocumentElement } from '../xml/document-element.js';

/**
 * xs:dateTime of a field as epoch seconds; without an offset it is the plant's time. Undefined as well for a date that
 * stands for none.
 *
 * @param recordedAt of a time that has passed, see `epochSecondsOf`
 */
export function readDateTimeField(
  element: DocumentElement,
  field: string,
  timeZone: string,
  recordedAt?: number,
): Parsed<number | undefined> {
  const found = readText(element, field);
  if (!found.ok) return found;
  const text = found.value;
  if (text === undefined) return parsed(undefined);
  // to ISO 8601, a date is a time as well
  const seconds = text.includes('T') ? readDateTime(text, timeZone, recordedAt) : 'invalid';
  if (seconds === 'invalid') {
    return rejected('invalid-message', `${pathOf(element, field)} is no xs:dateTime`);
  }
  return parsed(seconds === 'absent' ? undefined : seconds);
}
