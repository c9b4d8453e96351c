import { parsed, rejected, type Parsed, type Refused } from './rejection.js';

/** Largest message body the bridge reads, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;

const MAX_DEPTH = 64;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Bytes to a JSON value. Refusals: `too-large` above {@link MAX_BODY_BYTES}, `invalid-json` for what is no
 * UTF-8 or no JSON, `invalid-message` for arrays and objects nested deeper than 64 levels. A byte order
 * mark is tolerated.
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
    return rejected('invalid-json', `the body is not valid JSON${position(error)}`);
  }
  // Each level takes two brackets: most messages are too short to be nested that deep.
  if (text.length > 2 * MAX_DEPTH && isDeeperThan(MAX_DEPTH, value)) {
    return rejected('invalid-message', `the body is nested deeper than ${MAX_DEPTH} levels`);
  }
  return parsed(value);
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

/** Only the place of the fault: the engine's own message quotes the payload. */
function position(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  if (message.startsWith('Unexpected end')) return ': it ends too early';
  const match = /at position (\d+)/.exec(message);
  return match === null ? '' : ` at character ${match[1] ?? ''}`;
}

/** Looks no deeper than that, however deep the sender has gone. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item));
  for (const name in value) {
    if (isDeeperThan(levels - 1, (value as Readonly<Record<string, unknown>>)[name])) return true;
  }
  return false;
}
