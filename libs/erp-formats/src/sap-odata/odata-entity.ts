import {
  describeJson,
  isJsonObject,
  type JsonObject,
  parsed,
  type Parsed,
  rejected,
} from '#libs/contracts';

/** An entity and where it is in the document, such as `d.results[0]`. */
export interface ODataEntity {
  fields: JsonObject;
  path: string;
  /** What stands where an entity is expected. */
  notEntity?: string;
}

/** V2 wraps in `d` and `results`, V4 in `value`; readers that log what they fetch in `message`. */
const ENVELOPES = ['d', 'results', 'value', 'message'] as const;

/** All entities of a response: one by itself, a list, or either in an envelope. */
export function entitiesOf(json: unknown, path = ''): ODataEntity[] {
  if (Array.isArray(json)) {
    return json.flatMap((entry: unknown, index) => entityIn(entry, `${path}[${index}]`));
  }
  if (!isJsonObject(json)) return [];
  const envelope = ENVELOPES.find((name) => isWrapped(valueOf(json, name)));
  if (envelope === undefined) return [{ fields: json, path }];
  return entitiesOf(valueOf(json, envelope), pathTo({ path }, envelope));
}

/** None in null: what is no entity is kept, for its reader to refuse. */
function entityIn(entry: unknown, path: string): ODataEntity[] {
  if (entry === null) return [];
  if (isJsonObject(entry)) return [{ fields: entry, path }];
  return [{ fields: {}, path, notEntity: describeJson(entry) }];
}

/** Entities behind a navigation property; undefined when it was not expanded, be it absent or a link. */
export function expanded(entity: ODataEntity, names: readonly string[]): ODataEntity[] | undefined {
  for (const name of names) {
    const value = valueOf(entity.fields, name);
    const isLink = isJsonObject(value) && Object.hasOwn(value, '__deferred');
    const path = pathTo(entity, name);
    if (!isLink && isWrapped(value)) return entitiesOf(value, path);
    // text is a link too
    if (typeof value === 'number' || typeof value === 'boolean') return entityIn(value, path);
  }
  return undefined;
}

/** Text of a field, trimmed; undefined when absent or empty. What is no text was refused. */
export function textField({ fields }: ODataEntity, name: string): string | undefined {
  const value = valueOf(fields, name);
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}

/** An indicator as text, as ABAP writes it or what has made JSON out of XML. */
const SET: readonly string[] = ['X', 'TRUE'];
const NOT_SET: readonly string[] = ['', 'FALSE'];

/** An indicator as text, or of JSON. */
export function isSet({ fields }: ODataEntity, name: string): boolean {
  const value = valueOf(fields, name);
  return value === true || (typeof value === 'string' && SET.includes(value.trim().toUpperCase()));
}

export function pathTo({ path }: Pick<ODataEntity, 'path'>, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function isWrapped(value: unknown): boolean {
  return Array.isArray(value) || isJsonObject(value);
}

export function valueOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

interface EntityFields {
  texts: readonly string[];
  /** Indicators, each with the system status that it stands for. */
  flags?: readonly (readonly [field: string, systemStatus: string])[];
}

/** The first fault of any of them. */
export function checkEntities(
  entities: readonly ODataEntity[],
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
  entity: ODataEntity,
  { texts, flags = [] }: EntityFields,
): Parsed<undefined> {
  const { fields, path, notEntity } = entity;
  if (notEntity !== undefined) {
    return rejected('invalid-message', `${path} must be an object, not ${notEntity}`);
  }
  for (const name of texts) {
    const value = valueOf(fields, name) ?? '';
    if (typeof value === 'string') continue;
    const found = describeJson(value);
    return rejected('invalid-message', `${pathTo(entity, name)} must be text, not ${found}`);
  }
  const unclear = flags.find(([name]) => !isIndicator(valueOf(fields, name)))?.[0];
  if (unclear === undefined) return parsed(undefined);
  return rejected('invalid-message', `${pathTo(entity, unclear)} must be X, true, false or empty`);
}

function isIndicator(value: unknown): boolean {
  if (typeof value === 'string') return [...SET, ...NOT_SET].includes(value.trim().toUpperCase());
  return typeof value === 'boolean' || value === null || value === undefined;
}
