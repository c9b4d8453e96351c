import { describeJson, field, parsed, type Parsed, rejected } from '#libs/contracts';
import { type JsonRecord, pathTo } from '../json/json-record.js';

/** V2 wraps in `d` and `results`, V4 in `value`; readers that log what they fetch in `message`. */
export const ENVELOPES = ['d', 'results', 'value', 'message'];

/** Text of a field, trimmed; undefined when absent or empty. What is no text was refused. */
export function textField({ fields }: JsonRecord, name: string): string | undefined {
  const value = field(fields, name);
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}

/** An indicator as text, as ABAP writes it or what has made JSON out of XML. */
const SET: readonly string[] = ['X', 'TRUE'];
const NOT_SET: readonly string[] = ['', 'FALSE'];

/** An indicator as text, or of JSON. */
export function isSet({ fields }: JsonRecord, name: string): boolean {
  const value = field(fields, name);
  return value === true || (typeof value === 'string' && SET.includes(value.trim().toUpperCase()));
}

interface EntityFields {
  texts: readonly string[];
  /** Indicators, each with the system status that it stands for. */
  flags?: readonly (readonly [field: string, systemStatus: string])[];
}

/** The first fault of any of them. */
export function checkEntities(
  entities: readonly JsonRecord[],
  fields: EntityFields,
): Parsed<undefined> {
  for (const entity of entities) {
    const checked = checkEntity(entity, fields);
    if (!checked.ok) return checked;
  }
  return parsed(undefined);
}

/**
 * Refuses what would otherwise count as absent: a field that is no text, an indicator that is neither set nor not,
 * and what is no entity. Fields that are not read are nobody's business.
 */
export function checkEntity(
  entity: JsonRecord,
  { texts, flags = [] }: EntityFields,
): Parsed<undefined> {
  const { fields, path, notObject } = entity;
  if (notObject !== undefined) {
    return rejected('invalid-message', `${path} must be an object, not ${notObject}`);
  }
  for (const name of texts) {
    const value = field(fields, name) ?? '';
    if (typeof value === 'string') continue;
    const found = describeJson(value);
    return rejected('invalid-message', `${pathTo(entity, name)} must be text, not ${found}`);
  }
  const unclear = flags.find(([name]) => !isIndicator(field(fields, name)))?.[0];
  if (unclear === undefined) return parsed(undefined);
  return rejected('invalid-message', `${pathTo(entity, unclear)} must be X, true, false or empty`);
}

function isIndicator(value: unknown): boolean {
  if (typeof value === 'string') return [...SET, ...NOT_SET].includes(value.trim().toUpperCase());
  return typeof value === 'boolean' || value === null || value === undefined;
}
