import protobuf from 'protobufjs';
import descriptor, {
  type IDescriptorProto,
  type IFileDescriptorProto,
} from 'protobufjs/ext/descriptor.js';
import { decodeUtf8, JsonOutput, UnreadableError } from './json-output.js';

const { common, Enum, Field, MapField, Namespace, parse, Reader, Root, tokenize, Type, types } =
  protobuf;
type Reader = protobuf.Reader;

/**
 * Decodes a Protobuf message to JSON. The payload has the message's indexes in the schema before the message.
 *
 * Fields have their ProtoJSON names (`working_orders` is `workingOrders`, unless it has a `json_name`). A field that
 * the message does not have is left out, except where Protobuf does not write a value that the sender has set: an empty
 * list becomes `[]`, and an enum of proto3 its value 0, unless the name of that value means that none is given. Enums
 * are names, timestamps RFC 3339, integers of 64 bits numbers while they are exact.
 *
 * protobufjs parses the schema. Messages are decoded here, because protobufjs generates its decoders as code at run
 * time, and they do not bound their output.
 *
 * @param documents schemas, each after the ones that it imports; the schema of the message is the last
 * @throws UnreadableError for an invalid schema
 */
export function protobufReader(documents: readonly string[]): (payload: Buffer) => string {
  const { own, root } = readSchema(documents);
  const plans: Plans = new Map();
  return (payload) => {
    const input: Input = { reader: Reader.create(payload), output: new JsonOutput(), plans };
    const type = root.lookupType(messageNameAt(own, readIndexes(input)));
    return readMessage(input, type, payload.length);
  };
}

/**
 * Characters that end a field or escape a quote. protobufjs takes a third of a second for MAX_MARKS fields, hours for
 * 512 KiB of them, and quadratic time for escaped quotes.
 */
const MARKS = /[;{,\\]/g;
const MAX_MARKS = 1000;
/** A field with options has ten and more. For the values of one option protobufjs takes quadratic time as well. */
const MAX_TOKENS = 12_000;
const MAX_CHARACTERS = 128 * 1024;
const TOO_LONG = `it has more than ${MAX_CHARACTERS} characters, ${MAX_MARKS} fields or ${MAX_TOKENS} words`;
const MAX_FAULT_CHARACTERS = 200;

/** Parses all documents. `own` is the package of the last one, in which a payload's indexes number the messages. */
function readSchema(documents: readonly string[]): {
  own: protobuf.NamespaceBase;
  root: protobuf.Root;
} {
  const root = new Root();
  const wellKnown = new Set<string>();
  let own: protobuf.NamespaceBase = root;
  try {
    let marks = checkLength(documents.join('\n'));
    for (const document of documents) {
      const { declared, add } = documentAdder(document);
      marks += declared;
      if (marks > MAX_MARKS) throw new UnreadableError(TOO_LONG);
      const alone = add(new Root());
      own = alone.space;
      for (const name of alone.imports) wellKnown.add(name);
      add(root);
    }
    for (const name of wellKnown) addWellKnown(root, name);
    dropExtensions(root);
    root.resolveAll();
  } catch (error) {
    if (error instanceof UnreadableError) throw error;
    // the message may quote the schema
    const why = (error as Error).message.slice(0, MAX_FAULT_CHARACTERS);
    throw new UnreadableError(`it is no Protobuf schema: ${why}`);
  }
  return { own, root };
}

interface Adder {
  /** Number of declarations of a descriptor; 0 for a text, whose marks are counted. */
  declared: number;
  /** Adds the document to a root. Returns its package there, and its imports. */
  add: (root: protobuf.Root) => { space: protobuf.NamespaceBase; imports: readonly string[] };
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * A document is text, or a FileDescriptorProto in base64: the serializers of Python, .NET and JavaScript register it in
 * that form, and some registries return it unchanged.
 */
function documentAdder(document: string): Adder {
  const options = { keepCase: true };
  if (!BASE64.test(document.trim())) {
    const add: Adder['add'] = (root) => {
      const { package: name, imports = [] } = parse(document, root, options);
      const space = name === undefined ? root : (root.lookup(name) as protobuf.NamespaceBase);
      return { space, imports };
    };
    return { declared: 0, add };
  }
  const bytes = Buffer.from(document, 'base64');
  const file = descriptor.FileDescriptorProto.decode(bytes) as IFileDescriptorProto;
  const { messageType = [], enumType = [] } = file;
  const context = { ...options, edition: file.syntax === 'proto3' ? 'proto3' : 'proto2' };
  const add: Adder['add'] = (root) => {
    const space = file.package ? root.define(file.package) : root;
    for (const each of messageType) space.add(Type.fromDescriptor(each, context));
    for (const each of enumType) space.add(Enum.fromDescriptor(each, context));
    return { space, imports: (file.dependency ?? []) as string[] };
  };
  return { declared: countDeclared(file), add };
}

/** Counts the kinds of declarations for which protobufjs takes more than linear time. */
function countDeclared(within: IFileDescriptorProto & IDescriptorProto): number {
  const { field = [], extension = [], oneofDecl = [], enumType = [], nestedType = [] } = within;
  const types = within.messageType ?? nestedType;
  const own = [field, extension, oneofDecl, enumType, types].flat().length;
  return types.reduce((sum, each) => sum + countDeclared(each), own);
}

/**
 * @returns the number of marks
 * @throws UnreadableError for a schema that would take long to parse
 */
function checkLength(text: string): number {
  const marks = text.match(MARKS)?.length ?? 0;
  const isShort = text.length <= MAX_CHARACTERS && marks <= MAX_MARKS;
  if (isShort && !hasManyTokens(text)) return marks;
  throw new UnreadableError(TOO_LONG);
}

function hasManyTokens(text: string): boolean {
  const { next } = tokenize(text, false);
  let count = 0;
  while (count <= MAX_TOKENS && next() !== null) count += 1;
  return count > MAX_TOKENS;
}

/** Messages that registries define, by import. Schemas of Kafka Connect and ksqlDB import but do not register them. */
const OF_REGISTRIES: ReadonlyMap<string, [space: string, type: string]> = new Map([
  ['confluent/type/decimal.proto', ['confluent.type', 'Decimal']],
  ['google/type/date.proto', ['google.type', 'Date']],
  ['google/type/timeofday.proto', ['google.type', 'TimeOfDay']],
]);

/** Adds the well-known types of an import, unless a serializer has registered it like any other schema. */
function addWellKnown(root: protobuf.Root, name: string): void {
  const [within = '', own = ''] = OF_REGISTRIES.get(name) ?? [];
  // without fields: WELL_KNOWN below has its reader
  if (own !== '' && root.define(within).get(own) === null) root.define(within).add(new Type(own));
  const { google } = (common.get(name)?.nested ?? {}) as { google?: protobuf.INamespace };
  const { protobuf: types } = (google?.nested ?? {}) as { protobuf?: protobuf.INamespace };
  if (types?.nested === undefined) return;
  const space = root.define('google.protobuf');
  for (const [type, json] of Object.entries(types.nested)) {
    if (space.get(type) === null) space.addJSON({ [type]: json });
  }
}

/** Messages are read without extensions; those for options extend types that protobufjs does not have. */
function dropExtensions(space: protobuf.NamespaceBase): void {
  for (const each of space.nestedArray) {
    if (each instanceof Field) space.remove(each);
    else if (each instanceof Namespace) dropExtensions(each);
  }
}

/** The full name of a message, by its index at each level of nesting. */
function messageNameAt(own: protobuf.NamespaceBase, indexes: readonly number[]): string {
  let at = own;
  for (const index of indexes) {
    const found = at.nestedArray.filter((each) => each instanceof Type)[index];
    if (found === undefined)
      throw new UnreadableError('it is of a message that the schema has not');
    at = found;
  }
  return at.fullName;
}

/** A payload with the position of its reader, and the output so far. */
interface Input {
  reader: Reader;
  output: JsonOutput;
  plans: Plans;
}

/** Readers of the fields of a message type, created with its first message. */
type Plans = Map<
  protobuf.Type,
  { byId: ReadonlyMap<number, FieldPlan>; unwritten: readonly FieldPlan[] }
>;

interface FieldPlan {
  id: number;
  /** `"name":` */
  key: string;
  wireType: number;
  /** Other fields of the same `oneof`, in which the last one written counts. */
  rivals: readonly number[];
  /** Adds a value to those that the message has of the field; undefined for a wire type that the field cannot have. */
  read: (input: Input, wireType: number, before: FieldValue | undefined) => FieldValue | undefined;
  /** The value of a field that the message does not have; undefined where the field is left out. */
  unwritten?: ((input: Input) => FieldValue) | undefined;
}

/** JSON texts: a value, the items of a list, or the members of a map by their keys. */
type FieldValue = string | string[] | Map<string, string>;

type ReadOne = (input: Input) => string;

const LENGTH_DELIMITED = 2;
/** More levels of nested types than a schema has. */
const MAX_INDEXES = 64;

/** Indexes of the message in its schema. A single 0 means the first message. */
function readIndexes({ reader }: Input): number[] {
  const count = reader.sint32();
  if (count === 0) return [0];
  if (count < 0 || count > MAX_INDEXES) throw new UnreadableError('it names no message');
  return Array.from({ length: count }, () => reader.sint32());
}

function readMessage(input: Input, type: protobuf.Type, end: number): string {
  const { output } = input;
  return output.writeNested('{', () => {
    const { byId, unwritten } = planOf(input, type);
    const values = new Map<number, FieldValue>();
    readFields(input, end, (id, wireType) => {
      const field = byId.get(id);
      const value = field?.read(input, wireType, values.get(id));
      if (field === undefined || value === undefined) return false;
      for (const rival of field.rivals) values.delete(rival);
      values.set(id, value);
      return true;
    });
    for (const field of unwritten) {
      output.countValue();
      const value = values.get(field.id) ?? field.unwritten?.(input);
      if (value !== undefined) values.set(field.id, value);
    }
    return [...values].map(
      ([id, value]) => output.writeText(byId.get(id)?.key ?? '') + joinJson(value),
    );
  });
}

function joinJson(value: FieldValue): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `[${value.join(',')}]`;
  return `{${[...value].map(([key, member]) => `${key}:${member}`).join(',')}}`;
}

/** @param take returns whether it has read the field; otherwise the field is skipped */
function readFields(
  { reader, output }: Input,
  end: number,
  take: (id: number, wireType: number) => boolean,
): void {
  while (reader.pos < end) {
    output.countValue();
    const tag = reader.uint32();
    if (!take(tag >>> 3, tag & 7)) reader.skipType(tag & 7);
  }
  if (reader.pos > end) throw new UnreadableError('it ends too early');
}

/** Reads the length of a value. Returns the position of its end. */
function readEnd({ reader }: Input): number {
  const length = reader.uint32();
  return reader.pos + length;
}

function planOf({ plans }: Input, type: protobuf.Type): NonNullable<ReturnType<Plans['get']>> {
  const known = plans.get(type);
  if (known !== undefined) return known;
  const fields = type.fieldsArray.map(planField);
  const unwritten = fields.filter((field) => field.unwritten !== undefined);
  const plan = { byId: new Map(fields.map((field) => [field.id, field])), unwritten };
  plans.set(type, plan);
  return plan;
}

function planField(field: protobuf.Field): FieldPlan {
  const { id, jsonName, partOf } = field;
  const rivals = (partOf?.fieldsArray ?? [])
    .map((rival) => rival.id)
    .filter((rival) => rival !== id);
  const one = readerOf(field.type, field.resolvedType);
  const isMap = field instanceof MapField;
  const wireType = isMap ? LENGTH_DELIMITED : one.wireType;
  return {
    ...{ id, key: `${JSON.stringify(jsonName)}:`, wireType, rivals },
    read: isMap
      ? readEntry(readerOf(field.keyType, null), one)
      : field.repeated
        ? readItems(one)
        : readSingle(one),
    unwritten: field.repeated ? () => [] : field.hasPresence || isMap ? undefined : one.unwritten,
  };
}

interface OneReader {
  wireType: number;
  read: ReadOne;
  /** The default value, which Protobuf does not write. */
  fallback: ReadOne;
  /** The default value of an enum whose value 0 has a meaning. */
  unwritten?: ReadOne | undefined;
}

/** Names of a value 0 that means that no value is given. */
const SAYS_NOTHING = /(?:^|_)(?:unspecified|unknown)$/i;

function readSingle({ wireType, read }: OneReader): FieldPlan['read'] {
  return (input, given) => (given === wireType ? read(input) : undefined);
}

/** Numbers may be packed, whatever the schema says. */
function readItems({ wireType, read }: OneReader): FieldPlan['read'] {
  return (input, given, before = []) => {
    const items = before as string[];
    if (given === wireType) {
      items.push(read(input));
    } else if (given === LENGTH_DELIMITED) {
      const end = readEnd(input);
      while (input.reader.pos < end) {
        input.output.countValue();
        items.push(read(input));
      }
      if (input.reader.pos > end) throw new UnreadableError('it ends too early');
    } else return undefined;
    return items;
  };
}

/** Reads an entry of a map. The last entry of a key counts. */
function readEntry(key: OneReader, value: OneReader): FieldPlan['read'] {
  return (input, given, before = new Map<string, string>()) => {
    if (given !== LENGTH_DELIMITED) return undefined;
    const read: (string | undefined)[] = [];
    readFields(input, readEnd(input), (id, wireType) => {
      const part = id === 1 ? key : value;
      if (id > 2 || wireType !== part.wireType) return false;
      read[id] = part.read(input);
      return true;
    });
    const name = read[1] ?? key.fallback(input);
    const text = name.startsWith('"') ? name : `"${name}"`;
    return (before as Map<string, string>).set(text, read[2] ?? value.fallback(input));
  };
}

function readerOf(name: string, type: protobuf.Type | protobuf.Enum | null): OneReader {
  if (type instanceof Enum) {
    const read = ({ reader, output }: Input): string => {
      const value = reader.int32();
      const symbol = type.valuesById[value];
      return symbol === undefined ? output.writeInteger(value) : output.writeString(symbol);
    };
    const first = Object.keys(type.values)[0] ?? '';
    const fallback: ReadOne = ({ output }) => output.writeString(first);
    return {
      wireType: 0,
      read,
      fallback,
      unwritten: SAYS_NOTHING.test(first) ? undefined : fallback,
    };
  }
  if (type !== null) {
    const whole = WELL_KNOWN[type.fullName] ?? ((input, end) => readMessage(input, type, end));
    const read: ReadOne = (input) => whole(input, readEnd(input));
    return { wireType: LENGTH_DELIMITED, read, fallback: ({ output }) => output.writeText('{}') };
  }
  const read = SCALARS[name];
  const wireType = (types.basic as Readonly<Record<string, number>>)[name];
  if (read === undefined || wireType === undefined) {
    throw new UnreadableError(`it has no type ${JSON.stringify(name)}`);
  }
  const fallback = name === 'bool' ? 'false' : wireType === LENGTH_DELIMITED ? '""' : '0';
  return { wireType, read, fallback: ({ output }) => output.writeText(fallback) };
}

/** Converts a Long, or a number where the package `long` is not loaded. */
function toBigInt(value: { toString(): string }): bigint {
  return BigInt(value.toString());
}

function scalars<M extends string>(methods: readonly M[], read: (method: M) => ReadOne) {
  return Object.fromEntries(methods.map((method) => [method, read(method)]));
}

const SCALARS: Readonly<Record<string, ReadOne>> = {
  ...scalars(
    ['int32', 'uint32', 'sint32', 'fixed32', 'sfixed32', 'float', 'double'],
    (method) =>
      ({ reader, output }) =>
        output.writeNumber(reader[method]()),
  ),
  ...scalars(
    ['int64', 'uint64', 'sint64', 'fixed64', 'sfixed64'],
    (method) =>
      ({ reader, output }) =>
        output.writeInteger(toBigInt(reader[method]())),
  ),
  bool: ({ reader, output }) => output.writeText(String(reader.bool())),
  string: ({ reader, output }) => output.writeString(decodeUtf8(reader.bytes())),
  bytes: ({ reader, output }) => output.writeBytes(reader.bytes()),
};

type ReadWhole = (input: Input, end: number) => string;

/** Readers of the well-known types that a plant's message may use and that are not JSON objects. */
const WELL_KNOWN: Readonly<Record<string, ReadWhole | undefined>> = Object.assign(
  Object.create(null) as object,
  {
    '.confluent.type.Decimal': readDecimal,
    '.google.type.Date': readDate,
    '.google.type.TimeOfDay': readTimeOfDay,
    '.google.protobuf.Timestamp': readTimestamp,
    ...Object.fromEntries(
      ['Bool', 'Bytes', 'Double', 'Float', 'Int32', 'Int64', 'String', 'UInt32', 'UInt64'].map(
        (name) => [`.google.protobuf.${name}Value`, readWrapped(name.toLowerCase())],
      ),
    ),
  },
);

function readTimestamp(input: Input, end: number): string {
  const [, seconds = 0, nanos = 0] = readWholeNumbers(input, end);
  return input.output.writeTimestamp(seconds * 1000 + Math.floor(nanos / 1_000_000));
}

function readDate(input: Input, end: number): string {
  const [, year = 0, month = 0, day = 0] = readWholeNumbers(input, end);
  return input.output.writeText(`"${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}"`);
}

function readTimeOfDay(input: Input, end: number): string {
  const [, hours = 0, minutes = 0, seconds = 0, nanos = 0] = readWholeNumbers(input, end);
  const time = [hours, minutes, seconds].map((part) => padded(part, 2)).join(':');
  return input.output.writeText(`"${time}.${padded(Math.floor(nanos / 1_000_000), 3)}"`);
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}

/** Integer fields by their number, up to 4. */
function readWholeNumbers(input: Input, end: number): (number | undefined)[] {
  const values: (number | undefined)[] = [];
  readFields(input, end, (id, wireType) => {
    if (wireType !== 0 || id > 4) return false;
    values[id] = Number(toBigInt(input.reader.int64()));
    return true;
  });
  return values;
}

function readDecimal(input: Input, end: number): string {
  let [bytes, scale] = [Buffer.alloc(0), 0];
  readFields(input, end, (id, wireType) => {
    if (id === 1 && wireType === LENGTH_DELIMITED) bytes = Buffer.from(input.reader.bytes());
    else if (id === 3 && wireType === 0) scale = input.reader.int32();
    else return false;
    return true;
  });
  return input.output.writeDecimal(bytes, scale);
}

function readWrapped(scalar: string): ReadWhole {
  return (input, end) => {
    const { read, wireType, fallback } = readerOf(scalar, null);
    let value: string | undefined;
    readFields(input, end, (id, given) => {
      if (id !== 1 || given !== wireType) return false;
      value = read(input);
      return true;
    });
    return value ?? fallback(input);
  };
}
