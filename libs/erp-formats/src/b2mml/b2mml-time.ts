import { parsed, readEpochSeconds, rejected, type Parsed } from '#libs/contracts';

import { readLocalTime } from '../time/read-local-time.js';
import { epochSecondsOf } from '../time/local-time.js';
import { pathOf, readText, type DocumentElement } from '../xml/document-element.js';

const LOCAL = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?$/;

/** xs:dateTime of a field as epoch seconds; without an offset it is the plant's time. */
export function readDateTime(
  element: DocumentElement,
  field: string,
  timeZone: string,
): Parsed<number | undefined> {
  const found = readText(element, field);
  if (!found.ok) return found;
  const text = found.value;
  if (text === undefined) return parsed(undefined);
  const [, date, time] = LOCAL.exec(text) ?? [];
  if (date !== undefined) {
    const local = readLocalTime(date, time);
    if (typeof local === 'object') return parsed(epochSecondsOf(local, timeZone));
  }
  const instant = text.includes('T') ? readEpochSeconds(text) : undefined;
  if (instant?.ok === true) return parsed(instant.seconds);
  return rejected('invalid-message', `${pathOf(element, field)} is no xs:dateTime`);
}
