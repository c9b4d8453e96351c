import { describeJson, field, isJsonObject, type JsonObject } from '#libs/contracts';
import { decodeUtf8, isoDate, JsonOutput, UnreadableError } from './json-output.js';

/**
 * Decodes a value in Avro's binary encoding to JSON, by the schema that it was written with. Reads a union as the value
 * of its branch, and leaves out a field that is null: in Avro, a field that may be absent is nullable. Times with a
 * logical type become RFC 3339; decimals and bytes become strings.
 *
 * Written by hand: avsc compiles schemas to code at run time (`new Function`) and does not bound the output of a few
 * bytes, see docs/decisions/0050-schema-registry.md.
 *
 * @param documents schemas, each after the ones that it refers to; the schema of the value is the last
 * @throws UnreadableError for an invalid schema
 */
export function avroReader(documents: readonly string[]): (payload: Buffer) => string {
  const names: Names = new Map();
  let read: Read = readNull;
  for (const document of documents) read = compile(parseJson(document), { names, space: '' }, 0);
  return (payload) => {
    const input = new AvroInput(payload);
    const text = read(input) ?? 'null';
    if (input.remaining > 0) throw new UnreadableError(`${input.remaining} bytes are left over`);
    return text;
  };
}

/** JSON of the next value; undefined for null. */
type Read = (input: AvroInput) => string | undefined;

type Names = Map<string, { read?: Read }>;

interface Scope {
  names: Names;
  /** Namespace of names without a dot. */
  space: string;
}

/** A value's bytes with the position of the reader, and the output so far. */
class AvroInput {
  readonly output = new JsonOutput();
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  get remaining(): number {
    return this.bytes.length - this.at;
  }

  readByte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new UnreadableError('it ends too early');
    this.at += 1;
    return byte;
  }

  readBytes(length: number): Buffer {
    if (!(length >= 0 && length <= this.remaining)) throw new UnreadableError('it ends too early');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** A zig-zag varint; a bigint where a number may not be exact. */
  readLong(): number | bigint {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < 7; count += 1) {
      const byte = this.readByte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      factor *= 0x80;
    }
    return this.readLargeLong(BigInt(value));
  }

  /** A length, an index or a count of items. */
  readCount(): number {
    return Number(this.readLong());
  }

  /** Number of items in the next block of an array or map; 0 at its end. */
  readBlockLength(): number {
    const count = this.readCount();
    if (count >= 0) return count;
    // the size of the block in bytes, for readers that skip it
    this.readLong();
    return -count;
  }

  /** @param low the first seven groups of the varint */
  private readLargeLong(low: bigint): bigint {
    let value = low;
    for (let shift = 49n; shift <= 63n; shift += 7n) {
      const byte = this.readByte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
    }
    throw new UnreadableError('it has a number that does not end');
  }
}

const readNull: Read = () => undefined;
const readInteger: Read = (input) => input.output.writeInteger(input.readLong());
const readBytes: Read = (input) => input.output.writeBytes(input.readBytes(input.readCount()));
const readString: ReadAny = (input) =>
  input.output.writeString(decodeUtf8(input.readBytes(input.readCount())));

const PRIMITIVES: Readonly<Record<string, Read>> = {
  null: readNull,
  boolean: (input) => input.output.writeText(input.readByte() === 0 ? 'false' : 'true'),
  int: readInteger,
  long: readInteger,
  float: (input) => input.output.writeNumber(input.readBytes(4).readFloatLE()),
  double: (input) => input.output.writeNumber(input.readBytes(8).readDoubleLE()),
  bytes: readBytes,
  string: readString,
};

const DAY_MS = 86_400_000;

/** By Avro type and logical type. */
const LOGICAL_TYPES: Readonly<Record<string, Read>> = {
  'int date': (input) =>
    input.output.writeText(`"${isoDate(Number(input.readLong()) * DAY_MS).slice(0, 10)}"`),
  'int time-millis': (input) => timeOfDay(input, 1),
  'long time-micros': (input) => timeOfDay(input, 1000),
  'long timestamp-millis': (input) => input.output.writeTimestamp(Number(input.readLong())),
  'long timestamp-micros': (input) => input.output.writeTimestamp(floorOf(input.readLong(), 1000)),
  'long timestamp-nanos': (input) =>
    input.output.writeTimestamp(floorOf(input.readLong(), 1_000_000)),
  'long local-timestamp-millis': (input) => localTime(input, 1),
  'long local-timestamp-micros': (input) => localTime(input, 1000),
  'long local-timestamp-nanos': (input) => localTime(input, 1_000_000),
};

function floorOf(value: number | bigint, divisor: number): number {
  return Math.floor(Number(value) / divisor);
}

function timeOfDay(input: AvroInput, perMs: number): string {
  return input.output.writeText(`"${isoDate(floorOf(input.readLong(), perMs)).slice(11, 23)}"`);
}

/** A time without a zone: the parser of a message that needs an instant refuses it. */
function localTime(input: AvroInput, perMs: number): string {
  return input.output.writeText(`"${isoDate(floorOf(input.readLong(), perMs)).slice(0, 23)}"`);
}

const MAX_SCHEMA_DEPTH = 128;

function compile(schema: unknown, scope: Scope, depth: number): Read {
  if (depth > MAX_SCHEMA_DEPTH) throw new UnreadableError('its types are nested too deep');
  if (typeof schema === 'string') return compileName(schema, scope);
  if (Array.isArray(schema)) return compileUnion(schema, scope, depth);
  if (!isJsonObject(schema)) throw new UnreadableError(`a type is ${describeJson(schema)}`);
  const type = field(schema, 'type');
  switch (type) {
    case 'record':
    case 'error':
      return compileRecord(schema, scope, depth);
    case 'enum':
      return compileEnum(schema, scope);
    case 'fixed':
      return compileFixed(schema, scope);
    case 'array':
      return compileArray(compile(field(schema, 'items'), scope, depth + 1));
    case 'map':
      return compileMap(compile(field(schema, 'values'), scope, depth + 1));
    default:
      return compileLogical(schema, type) ?? compile(type, scope, depth + 1);
  }
}

function compileLogical(schema: JsonObject, type: unknown): Read | undefined {
  const logicalType = field(schema, 'logicalType');
  if (typeof logicalType !== 'string' || typeof type !== 'string') return undefined;
  if (type === 'bytes' && logicalType === 'decimal') {
    const scale = scaleOf(schema);
    return (input) => input.output.writeDecimal(input.readBytes(input.readCount()), scale);
  }
  const name = `${type} ${logicalType}`;
  return Object.hasOwn(LOGICAL_TYPES, name) ? LOGICAL_TYPES[name] : undefined;
}

function compileName(name: string, { names, space }: Scope): Read {
  const primitive = Object.hasOwn(PRIMITIVES, name) ? PRIMITIVES[name] : undefined;
  if (primitive !== undefined) return primitive;
  const known = names.get(fullName(name, space)) ?? names.get(name);
  if (known === undefined) throw new UnreadableError(`it has no type ${JSON.stringify(name)}`);
  // a record may contain itself: its reader does not exist yet
  return known.read ?? ((input) => known.read?.(input));
}

function compileUnion(branches: readonly unknown[], scope: Scope, depth: number): Read {
  const reads = branches.map((branch) => compile(branch, scope, depth + 1));
  return (input) => {
    const read = reads[input.readCount()];
    if (read === undefined) throw new UnreadableError('it has a branch that its union has not');
    return read(input);
  };
}

function compileRecord(schema: JsonObject, scope: Scope, depth: number): Read {
  const { known, space } = defineType(schema, scope);
  const given = field(schema, 'fields');
  if (!Array.isArray(given)) throw new UnreadableError('a record has no fields');
  const fields = given.map((each: unknown) => {
    const name = isJsonObject(each) ? field(each, 'name') : undefined;
    if (!isJsonObject(each) || typeof name !== 'string') {
      throw new UnreadableError('a field has no name');
    }
    const read = compile(field(each, 'type'), { names: scope.names, space }, depth + 1);
    return { key: `${JSON.stringify(name)}:`, read };
  });
  known.read = (input) =>
    input.output.writeNested('{', () => {
      const members: string[] = [];
      for (const { key, read } of fields) {
        input.output.countValue();
        const text = read(input);
        if (text !== undefined) members.push(input.output.writeText(key) + text);
      }
      return members;
    });
  return known.read;
}

function compileEnum(schema: JsonObject, scope: Scope): Read {
  const symbols = field(schema, 'symbols');
  if (!Array.isArray(symbols)) throw new UnreadableError('an enum has no symbols');
  const { known } = defineType(schema, scope);
  known.read = (input) => {
    const symbol: unknown = symbols[input.readCount()];
    if (typeof symbol !== 'string')
      throw new UnreadableError('it has a symbol that its enum has not');
    return input.output.writeString(symbol);
  };
  return known.read;
}

function compileFixed(schema: JsonObject, scope: Scope): Read {
  const size = field(schema, 'size');
  if (!Number.isSafeInteger(size)) throw new UnreadableError('a fixed type has no size');
  const { known } = defineType(schema, scope);
  const scale = field(schema, 'logicalType') === 'decimal' ? scaleOf(schema) : undefined;
  known.read = (input) => {
    const bytes = input.readBytes(size as number);
    return scale === undefined
      ? input.output.writeBytes(bytes)
      : input.output.writeDecimal(bytes, scale);
  };
  return known.read;
}

function compileArray(read: Read): Read {
  const item = orNull(read);
  return (input) => input.output.writeNested('[', () => readBlocks(input, item));
}

function compileMap(read: Read): Read {
  const value = orNull(read);
  const member: ReadAny = (input) => `${readString(input)}:${value(input)}`;
  return (input) => input.output.writeNested('{', () => readBlocks(input, member));
}

type ReadAny = (input: AvroInput) => string;

function orNull(read: Read): ReadAny {
  return (input) => read(input) ?? input.output.writeText('null');
}

function readBlocks(input: AvroInput, read: ReadAny): string[] {
  const texts: string[] = [];
  for (let left = input.readBlockLength(); left > 0; left = input.readBlockLength()) {
    for (; left > 0; left -= 1) {
      input.output.countValue();
      texts.push(read(input));
    }
  }
  return texts;
}

/** Defines the name of a type before its parts are compiled, which may refer to it. */
function defineType(
  schema: JsonObject,
  { names, space }: Scope,
): { known: { read?: Read }; space: string } {
  const name = field(schema, 'name');
  if (typeof name !== 'string') throw new UnreadableError('a named type has no name');
  const own = field(schema, 'namespace');
  const full = fullName(name, typeof own === 'string' ? own : space);
  const known = {};
  names.set(full, known);
  return { known, space: full.slice(0, Math.max(0, full.lastIndexOf('.'))) };
}

function fullName(name: string, space: string): string {
  return name.includes('.') || space === '' ? name : `${space}.${name}`;
}

function scaleOf(schema: JsonObject): number {
  const scale = field(schema, 'scale') ?? 0;
  if (Number.isInteger(scale) && Number(scale) >= 0 && Number(scale) <= 1000) return Number(scale);
  throw new UnreadableError('a decimal has no scale');
}

function parseJson(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch {
    // a schema of one primitive type may be stored as its name without quotes
    return document.trim();
  }
}
