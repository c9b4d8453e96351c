/** What kafkajs gives to the encoding of a record of a batch. */
export interface RecordFields {
  offsetDelta?: number;
  /** Milliseconds after the batch's first record; below zero for a record older than that. */
  timestampDelta?: number;
  key?: string | Buffer | null;
  value: string | Buffer | null;
  headers?: Readonly<Record<string, string | Buffer | readonly (string | Buffer)[]>>;
}

/** As much of kafkajs's own encoder as the writing of a batch asks for. */
export interface EncodedRecord {
  buf: Buffer;
  buffer: Buffer;
}

type Part = string | Buffer;

const NONE = -1;
/** Up to this length a loop is faster than a call into the runtime. */
const SHORT_TEXT = 24;

/**
 * A record of a record batch (magic 2) as Kafka's protocol lays it down: length, attributes,
 * timestamp delta, offset delta, key, value, headers; lengths are zigzag varints.
 *
 * @throws TypeError when a key, a value or a header is neither text nor bytes
 */
export function encodeRecord(record: RecordFields): EncodedRecord {
  const { offsetDelta = 0, timestampDelta = 0, key, value, headers = {} } = record;
  const headerParts = flatten(headers);
  const lengths = headerParts.map(byteLength);
  const keyLength = key == null ? NONE : byteLength(key);
  const valueLength = value == null ? NONE : byteLength(value);

  let size = 1 + sizeOfVarint(timestampDelta) + sizeOfVarint(offsetDelta);
  size += sizeOfPart(keyLength) + sizeOfPart(valueLength) + sizeOfVarint(headerParts.length / 2);
  for (const length of lengths) size += sizeOfPart(length);

  const buf = Buffer.allocUnsafe(sizeOfVarint(size) + size);
  let at = writeVarint(buf, 0, size);
  buf[at] = 0;
  at = writeVarint(buf, at + 1, timestampDelta);
  at = writeVarint(buf, at, offsetDelta);
  at = writePart(buf, at, key ?? '', keyLength);
  at = writePart(buf, at, value ?? '', valueLength);
  at = writeVarint(buf, at, headerParts.length / 2);
  headerParts.forEach((part, index) => (at = writePart(buf, at, part, lengths[index] ?? NONE)));
  return { buf, buffer: buf };
}

/** Name and value by turns; a header of several values is repeated under its name. */
function flatten(headers: NonNullable<RecordFields['headers']>): Part[] {
  const parts: Part[] = [];
  for (const name of Object.keys(headers)) {
    const value = headers[name] as Part | readonly Part[];
    if (typeof value === 'string' || Buffer.isBuffer(value)) parts.push(name, value);
    else for (const one of value) parts.push(name, one);
  }
  return parts;
}

function byteLength(part: Part): number {
  return Buffer.byteLength(part);
}

function sizeOfPart(length: number): number {
  return sizeOfVarint(length) + Math.max(length, 0);
}

/** Small numbers of either sign become small numbers of none; exact up to 2^52, far beyond any difference of times. */
function zigzag(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

function sizeOfVarint(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest > 0x7f; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Returns where the next part begins. */
function writeVarint(buf: Buffer, start: number, value: number): number {
  let at = start;
  let rest = zigzag(value);
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) buf[at++] = (rest % 128) | 0x80;
  buf[at] = rest;
  return at + 1;
}

function writePart(buf: Buffer, start: number, part: Part, length: number): number {
  const at = writeVarint(buf, start, length);
  if (length === NONE) return at;
  if (typeof part !== 'string') buf.set(part, at);
  // As many bytes as characters: ASCII.
  else if (length !== part.length || length > SHORT_TEXT) buf.write(part, at, length, 'utf8');
  else for (let index = 0; index < length; index += 1) buf[at + index] = part.charCodeAt(index);
  return at + length;
}
