import { parsed, rejected, type Parsed } from '#libs/contracts';

import { utcSeconds } from '../time/local-time.js';
import { isInitial, readLocalTime } from '../time/read-local-time.js';
import { checkEntity } from './check-entity.js';
import { pathTo, textField, type ODataEntity } from './odata-entity.js';
import { ISO_INSTANT, V2_DATE } from './odata-time.js';

const FIELD = 'LastChangeDateTime';

/**
 * When an entity was last changed, in epoch seconds. One that cannot be read is refused: dated by its message, an old
 * state of the order would outrank all that is known.
 */
export function readLastChange(entity: ODataEntity): Parsed<number | undefined> {
  const checked = checkEntity(entity, { texts: [FIELD] });
  if (!checked.ok) return checked;
  const text = textField(entity, FIELD);
  if (text === undefined || isInitial(text)) return parsed(undefined);
  const seconds = secondsOf(text);
  if (seconds !== undefined) return parsed(seconds);
  return rejected('invalid-message', `${pathTo(entity, FIELD)} is no time`);
}

/** Of 14 digits (UTC), V2 milliseconds or ISO 8601; undefined for none of these. */
function secondsOf(text: string): number | undefined {
  const milliseconds = V2_DATE.exec(text)?.[1];
  if (milliseconds !== undefined) return Math.floor(Number(milliseconds) / 1000);
  const [, date, time, offset = 'Z'] = ISO_INSTANT.exec(text) ?? [];
  if (date !== undefined && time !== undefined) return epochSeconds(`${date}T${time}${offset}`);
  const local = readLocalTime(text.slice(0, 8), text.slice(8, 14));
  return typeof local === 'object' ? utcSeconds(local) : undefined;
}

function epochSeconds(iso: string): number | undefined {
  const milliseconds = Date.parse(iso);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
