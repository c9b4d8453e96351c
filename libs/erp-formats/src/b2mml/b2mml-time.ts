import { parsed, rejected, type Parsed } from '#libs/contracts';

import { readDateTime } from '../time/local-time.js';
import { pathOf, readText, type DocumentElement } from '../xml/document-element.js';

/**
 * xs:dateTime of a field as epoch seconds; without an offset it is local time of the plant. Undefined where the field
 * is absent or has a date that means none.
 *
 * @param recordedAt for a time in the past, see `epochSecondsOf`
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
  // readDateTime also accepts a date without a time
  const seconds = text.includes('T') ? readDateTime(text, timeZone, recordedAt) : 'invalid';
  if (seconds === 'invalid') {
    return rejected('invalid-message', `${pathOf(element, field)} is no xs:dateTime`);
  }
  return parsed(seconds === 'absent' ? undefined : seconds);
}
