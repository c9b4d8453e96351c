import type { MessageHeaders } from '#libs/contracts';

/** A message as kafkajs's producers are given it, and its headers in a list as well. */
export interface MessageFields {
  key?: string | Buffer | null;
  value: string | Buffer | null;
  headers?: MessageHeaders | HeadersByName;
  /** Milliseconds since the epoch, decimal digits; without it, now. */
  timestamp?: string;
}

type Part = string | Buffer;
/** kafkajs's shape: a header of several values is repeated under its name. It knows none without a value. */
type HeadersByName = Readonly<Record<string, Part | readonly Part[]>>;

const NONE = -1;
/** Up to this length a loop is faster than a call into the runtime. */
const SHORT_TEXT = 16;

/**
 * The records of a batch (magic 2), measured so that they can be written where they belong, each as Kafka's
 * protocol lays it down: length, attributes, timestamp delta, offset delta, key, value, headers; lengths are zigzag
 * varints.
 */
export class RecordLayout {
  /** All records together. */
  readonly bytes: number;
  /** Of one record after the other: key, value, and name and value of its headers. */
  private readonly parts: Part[] = [];
  private readonly lengths: number[] = [];
  /** Of each record, behind its length. */
  private readonly bodies: number[] = [];
  private readonly headerCounts: number[] = [];

  /**
   * @param timestampDeltas milliseconds after the first record; below zero for a record older than that
   * @throws TypeError when a key, a value or a header is neither text nor bytes
   */
  constructor(
    messages: readonly MessageFields[],
    private readonly timestampDeltas: readonly number[],
  ) {
    let bytes = 0;
    for (const message of messages) {
      const body = this.measure(message);
      this.bodies.push(body);
      bytes += sizeOfVarint(body) + body;
    }
    this.bytes = bytes;
  }

  get count(): number {
    return this.bodies.length;
  }

  /** Returns where the records end. */
  write(buffer: Buffer, start: number): number {
    const { parts, lengths, bodies, headerCounts, timestampDeltas } = this;
    let at = start;
    let part = 0;
    for (let index = 0; index < bodies.length; index += 1) {
      at = writeVarint(buffer, at, bodies[index] ?? 0);
      buffer[at] = 0;
      at = writeVarint(buffer, at + 1, timestampDeltas[index] ?? 0);
      at = writeVarint(buffer, at, index);
      const headers = part + 2;
      for (; part < headers; part += 1) at = writePart(buffer, at, parts[part], lengths[part]);
      const count = headerCounts[index] ?? 0;
      at = writeVarint(buffer, at, count);
      for (const end = headers + count * 2; part < end; part += 1) {
        at = writePart(buffer, at, parts[part], lengths[part]);
      }
    }
    return at;
  }

  private measure({ key, value, headers }: MessageFields): number {
    const index = this.bodies.length;
    const first = this.parts.length + 2;
    const fixed = 1 + sizeOfVarint(this.timestampDeltas[index] ?? 0) + sizeOfVarint(index);
    let bytes = fixed + this.add(key) + this.add(value);
    if (headers !== undefined) bytes += this.addHeaders(headers);
    const count = (this.parts.length - first) / 2;
    this.headerCounts.push(count);
    return bytes + sizeOfVarint(count);
  }

  private addHeaders(headers: MessageHeaders | HeadersByName): number {
    let bytes = 0;
    if (isList(headers)) {
      for (const [name, value] of headers) bytes += this.addPart(name) + this.add(value);
      return bytes;
    }
    for (const name in headers) {
      const value = headers[name] as Part | readonly Part[];
      if (!Array.isArray(value)) bytes += this.add(name) + this.addPart(value as Part);
      else for (const one of value as Part[]) bytes += this.add(name) + this.addPart(one);
    }
    return bytes;
  }

  private add(part: Part | null | undefined): number {
    if (part != null) return this.addPart(part);
    this.parts.push('');
    this.lengths.push(NONE);
    return 1;
  }

  private addPart(part: Part): number {
    const length = Buffer.byteLength(part);
    this.parts.push(part);
    this.lengths.push(length);
    return sizeOfVarint(length) + length;
  }
}

function isList(headers: MessageHeaders | HeadersByName): headers is MessageHeaders {
  return Array.isArray(headers);
}

function writePart(buffer: Buffer, start: number, part: Part = '', length: number = NONE): number {
  const at = writeVarint(buffer, start, length);
  if (length === NONE) return at;
  if (typeof part !== 'string') buffer.set(part, at);
  else if (length !== part.length) buffer.write(part, at, length, 'utf8');
  // As many bytes as characters: ASCII.
  else if (length > SHORT_TEXT) buffer.write(part, at, length, 'latin1');
  else for (let index = 0; index < length; index += 1) buffer[at + index] = part.charCodeAt(index);
  return at + length;
}

/** Numbers of few bytes as records have them: seven bits a byte, the lowest first, small ones of either sign short. */

/** Exact up to 2^52, far beyond any difference of times. */
function zigzag(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

function sizeOfVarint(value: number): number {
  let rest = zigzag(value);
  if (rest < 0x80) return 1;
  let size = 1;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Returns where the next part begins. */
function writeVarint(buffer: Buffer, start: number, value: number): number {
  let at = start;
  let rest = zigzag(value);
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) buffer[at++] = (rest % 128) | 0x80;
  buffer[at] = rest;
  return at + 1;
}
