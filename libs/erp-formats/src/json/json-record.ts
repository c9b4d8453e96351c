import {
  describeJson,
  field,
  isJsonObject,
  type JsonObject,
  parsed,
  type Parsed,
  type Refused,
  rejected,
} from '#libs/contracts';

/** An object of a JSON document and where it is in it, such as `value[0].Operations[2]`. */
export interface JsonRecord {
  fields: JsonObject;
  path: string;
  /** What stands where an object is expected. */
  notObject?: string;
}

/** All records of a document: one by itself, a list, or either in one of the envelopes. */
export function recordsIn(json: unknown, envelopes: readonly string[], path = ''): JsonRecord[] {
  if (Array.isArray(json)) {
    return json.flatMap((entry: unknown, index) => recordIn(entry, `${path}[${index}]`));
  }
  if (!isJsonObject(json)) return [];
  const envelope = envelopes.find((name) => isWrapped(field(json, name)));
  if (envelope === undefined) return [{ fields: json, path }];
  return recordsIn(field(json, envelope), envelopes, pathTo({ path }, envelope));
}

/** The first of them alone, which says what the document is; without its path. */
export function firstRecordIn(
  json: unknown,
  envelopes: readonly string[],
): Omit<JsonRecord, 'path'> | undefined {
  if (Array.isArray(json)) return recordIn(json.find((entry) => entry !== null) ?? null, '')[0];
  if (!isJsonObject(json)) return undefined;
  const envelope = envelopes.find((name) => isWrapped(field(json, name)));
  return envelope === undefined
    ? { fields: json }
    : firstRecordIn(field(json, envelope), envelopes);
}

/** None in null: what is no object is kept, for its reader to refuse. */
function recordIn(entry: unknown, path: string): JsonRecord[] {
  if (entry === null) return [];
  if (isJsonObject(entry)) return [{ fields: entry, path }];
  return [{ fields: {}, path, notObject: describeJson(entry) }];
}

/** Records in a field of another; undefined when they did not come along, be the field absent or a link. */
export function childrenOf(
  record: JsonRecord,
  names: readonly string[],
  envelopes: readonly string[],
): JsonRecord[] | undefined {
  for (const name of names) {
    const value = field(record.fields, name);
    const isDeferred = isJsonObject(value) && Object.hasOwn(value, '__deferred');
    const path = pathTo(record, name);
    if (!isDeferred && isWrapped(value)) return recordsIn(value, envelopes, path);
    // text is a link too
    if (typeof value === 'number' || typeof value === 'boolean') return recordIn(value, path);
  }
  return undefined;
}

/** Refuses a record of whose children the sender's server gave the first page: the others would count as gone. */
export function checkPages(
  { fields, path }: JsonRecord,
  names: readonly string[],
): Parsed<undefined> {
  const link = names.map((name) => nextPageOf(fields, name)).find(Boolean);
  if (link === undefined) return parsed(undefined);
  const remedy = 'expand it without paging by the server, or send operations alone';
  return rejected(
    'invalid-message',
    `${pathTo({ path }, link)} leads to a further page: ${remedy}`,
  );
}

/** OData V2 has the link within what is expanded, V4 beside it, V4.01 under a shorter name; Oracle, a flag within. */
function nextPageOf(fields: JsonObject, name: string): string | undefined {
  const value = field(fields, name);
  if (isJsonObject(value)) {
    if (isLink(field(value, '__next'))) return `${name}.__next`;
    if (field(value, 'hasMore') === true) return `${name}.hasMore`;
  }
  const besides = [`${name}@odata.nextLink`, `${name}@nextLink`];
  return besides.find((each) => isLink(field(fields, each)));
}

function isLink(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

export function pathTo({ path }: Pick<JsonRecord, 'path'>, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export function missing(record: JsonRecord, name: string): Refused {
  return rejected('invalid-message', `${pathTo(record, name)} is missing`);
}

function isWrapped(value: unknown): boolean {
  return Array.isArray(value) || isJsonObject(value);
}
