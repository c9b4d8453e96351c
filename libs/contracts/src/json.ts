import { parsed, type Parsed, type Refused, rejected } from './rejection.js';

/** A JSON object; arrays are not. */
export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The kind of a value, with its article: "an array", "a string", "null". */
export function describeJson(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** An own field, or undefined: in a message, `__proto__` and `constructor` are fields like others. */
export function field(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Largest message body the bridge reads, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;

const MAX_DEPTH = 64;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a JSON body. Rejections: `too-large` above {@link MAX_BODY_BYTES}, `invalid-json` for invalid UTF-8 or JSON,
 * `invalid-message` for arrays and objects nested deeper than 64 levels and for an object that has a key twice. A
 * byte order mark is tolerated.
 */
export function readJson(body: Buffer): Parsed<unknown> {
  if (body.length > MAX_BODY_BYTES) return tooLarge(body.length);
  const text = decode(body);
  if (text === undefined) return rejected('invalid-json', 'the body is not valid UTF-8');
  if (text.trim() === '') return rejected('invalid-json', 'the body is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return rejected('invalid-json', `the body is not valid JSON${faultPosition(error)}`);
  }
  const members = countMembers(value, MAX_DEPTH);
  if (members === undefined) {
    return rejected('invalid-message', `the body is nested deeper than ${MAX_DEPTH} levels`);
  }
  // JSON.parse keeps the last of two equal keys, which leaves fewer members than were written. Counting the members
  // takes a fifth of the time of JSON.parse, searching for the key two to four times as long (lists, orders).
  const repeated = members === countColons(text) ? undefined : repeatedKey(text);
  if (repeated !== undefined) {
    return rejected('invalid-message', `the key ${repeated} is there twice in one object`);
  }
  return parsed(value);
}

/**
 * Writes a value that {@link readJson} has read. Undefined for a value with a number that JavaScript reads as infinite,
 * such as 1e400: JSON.stringify writes it as null, and null means that the field is absent.
 */
export function writeJson(value: unknown): string | undefined {
  const text = JSON.stringify(value);
  return text.includes('null') && holdsInfinity(value) ? undefined : text;
}

function holdsInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity);
}

export function tooLarge(bytes: number): Refused {
  return rejected('too-large', `the body has ${bytes} bytes, more than ${MAX_BODY_BYTES}`);
}

function decode(body: Buffer): string | undefined {
  try {
    return utf8.decode(body);
  } catch {
    return undefined;
  }
}

/** The position of a syntax error. The engine's own message is not used, because it quotes the payload. */
function faultPosition(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  if (message.startsWith('Unexpected end')) return ': it ends too early';
  const match = /at position (\d+)/.exec(message);
  return match === null ? '' : ` at character ${match[1] ?? ''}`;
}

/** Counts the members of all objects in a value. Stops with undefined where the value has more levels. */
function countMembers(value: unknown, levels: number): number | undefined {
  if (typeof value !== 'object' || value === null) return 0;
  if (levels === 0) return undefined;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item !== 'object') continue;
      const within = countMembers(item, levels - 1);
      if (within === undefined) return undefined;
      members += within;
    }
    return members;
  }
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    const within = typeof member === 'object' ? countMembers(member, levels - 1) : 0;
    if (within === undefined) return undefined;
    members += 1 + within;
  }
  return members;
}

const QUOTE = 0x22;
const SPACE = 0x20;

/** Counts colons that follow a quote: one for each member, and rarely one within a string. */
function countColons(text: string): number {
  let colons = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) <= SPACE) before -= 1;
    if (text.charCodeAt(before) === QUOTE) colons += 1;
  }
  return colons;
}

const TEXT_OR_BRACKET = /("(?:[^"\\]+|\\.)*")\s*(:?)|[{}]/g;

/** The first repeated key of an object in a JSON text, as written the second time. */
function repeatedKey(text: string): string | undefined {
  const objects: Set<string>[] = [];
  for (const [token, literal, colon] of text.matchAll(TEXT_OR_BRACKET)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (literal !== undefined && colon === ':') {
      const key = JSON.parse(literal) as string;
      const keys = objects.at(-1);
      if (keys?.has(key) === true) return literal;
      keys?.add(key);
    }
  }
  return undefined;
}
