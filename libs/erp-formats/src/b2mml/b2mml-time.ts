import { parsed, readEpochSeconds, rejected, type Parsed } from '#libs/contracts';

import { epochSecondsOf, readLocalTime } from '../time/local-time.js';
import { pathOf, readText, type DocumentElement } from '../xml/document-element.js';

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?(.*)$/;
const DAY_SECONDS = 86_400;

/**
 * xs:dateTime of a field as epoch seconds; without an offset it is the plant's time. Undefined as well for a date that
 * stands for none.
 */
export function readDateTime(
  element: DocumentElement,
  field: string,
  timeZone: string,
): Parsed<number | undefined> {
  const found = readText(element, field);
  if (!found.ok) return found;
  const text = found.value;
  if (text === undefined) return parsed(undefined);
  // the years that stand for no date are none that an instant has
  const instant = instantOf(text);
  if (instant !== undefined) return parsed(instant);
  const [whole, date, time, offset] = DATE_TIME.exec(text) ?? [];
  const local = whole === undefined ? 'invalid' : readLocalTime(date, time);
  if (local === 'absent') return parsed(undefined);
  if (offset === '' && local !== 'invalid') return parsed(epochSecondsOf(local, timeZone));
  return rejected('invalid-message', `${pathOf(element, field)} is no xs:dateTime`);
}

/** Of one with an offset. The end of a day, which RFC 3339 does not know, is the midnight of the next. */
function instantOf(text: string): number | undefined {
  const midnight = text.replace('T24:00:00', 'T00:00:00');
  const instant = text.includes('T') ? readEpochSeconds(midnight) : undefined;
  if (instant?.ok !== true) return undefined;
  return midnight === text ? instant.seconds : instant.seconds + DAY_SECONDS;
}
