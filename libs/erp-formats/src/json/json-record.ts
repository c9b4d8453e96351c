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

/** An object of a JSON document and its path, such as `value[0].Operations[2]`. */
export interface JsonRecord {
  fields: JsonObject;
  path: string;
  /** The kind of value that is present instead of an object. */
  notObject?: string;
}

/** All records of a document: a single one, a list, or either within envelopes. */
export function recordsIn(json: unknown, envelopes: readonly string[], path = ''): JsonRecord[] {
  return [...walkRecords(json, envelopes, path)];
}

/** The first record, which determines the format of the document. Looks at no other. */
export function firstRecordIn(json: unknown, envelopes: readonly string[]): JsonRecord | undefined {
  const [first] = walkRecords(json, envelopes, '');
  return first;
}

function* walkRecords(
  json: unknown,
  envelopes: readonly string[],
  path: string,
): Generator<JsonRecord> {
  if (Array.isArray(json)) {
    for (const [index, entry] of json.entries()) yield* recordIn(entry, `${path}[${index}]`);
  } else if (isJsonObject(json)) {
    const envelope = envelopes.find((name) => isWrapped(field(json, name)));
    if (envelope === undefined) yield { fields: json, path };
    else yield* walkRecords(field(json, envelope), envelopes, pathTo({ path }, envelope));
  }
}

/** None for null. Keeps any other value, for its reader to refuse. */
function recordIn(entry: unknown, path: string): JsonRecord[] {
  if (entry === null) return [];
  if (isJsonObject(entry)) return [{ fields: entry, path }];
  return [{ fields: {}, path, notObject: describeJson(entry) }];
}

/** Records within a field of another; undefined where they are not included: the field is absent or a link. */
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
    // a text is a link
    if (typeof value === 'number' || typeof value === 'boolean') return recordIn(value, path);
  }
  return undefined;
}

/** Refuses a record whose server returned only the first page of children: the others would count as removed. */
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

/** OData V2 has the link within the expanded field, V4 beside it, V4.01 with a shorter name; Oracle has a flag. */
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
