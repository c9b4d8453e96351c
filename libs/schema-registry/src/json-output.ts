import { MAX_BODY_BYTES, quoted } from '#libs/contracts';

/** A schema or a value cannot be read. The message follows its name and quotes nothing from a value. */
export class UnreadableError extends Error {}

/** The value becomes more JSON than a message may have. */
export class TooLargeError extends Error {}

/** Fields, items and branches of one value: twice those of the largest list and order that are accepted. */
const MAX_STEPS = 250_000;
/** Equals the bound of JSON input. */
const MAX_DEPTH = 64;
/** Bounds the digits of a decimal, because writing them takes time. */
const MAX_DECIMAL_BYTES = 256;
const MAX_SCALE = 1000;

/**
 * Writes the JSON text of one value, within bounds. Schemas are untrusted input like values: with a malicious one, a
 * few bytes become an array of a thousand million nulls, or a record whose fields double at each of thirty levels.
 */
export class JsonOutput {
  private steps = 0;
  private length = 0;
  private depth = 0;

  /** Counts a value. The reader calls it for every one, also for those of zero bytes. */
  countValue(): void {
    this.steps += 1;
    if (this.steps > MAX_STEPS) throw new TooLargeError(`it has more than ${MAX_STEPS} values`);
  }

  /** Counts a text of the output. */
  writeText(text: string): string {
    this.length += text.length;
    if (this.length > MAX_BODY_BYTES) {
      throw new TooLargeError(`it is more than ${MAX_BODY_BYTES} characters of JSON`);
    }
    return text;
  }

  writeString(text: string): string {
    return this.writeText(quoted(text));
  }

  /** A number; as a string where JSON has none, as for infinity. */
  writeNumber(value: number): string {
    return this.writeText(Number.isFinite(value) ? String(value) : `"${value}"`);
  }

  /** A number; as a string of digits where a number of JSON is not exact. */
  writeInteger(value: number | bigint): string {
    return this.writeText(Number.isSafeInteger(Number(value)) ? String(value) : `"${value}"`);
  }

  /** RFC 3339, to the millisecond. */
  writeTimestamp(epochMs: number): string {
    return this.writeText(`"${isoDate(epochMs)}"`);
  }

  writeBytes(bytes: Uint8Array): string {
    return this.writeText(`"${Buffer.from(bytes).toString('base64')}"`);
  }

  /** A decimal as a string, from its unscaled value in two's complement, big-endian. */
  writeDecimal(bytes: Buffer, scale: number): string {
    if (bytes.length > MAX_DECIMAL_BYTES) throw new UnreadableError('it has too long a decimal');
    if (Math.abs(scale) > MAX_SCALE) throw new UnreadableError('it has a decimal without a scale');
    const bits = BigInt(`0x0${bytes.toString('hex')}`);
    const unscaled = BigInt.asIntN(8 * bytes.length, bits);
    const value = scale < 0 ? unscaled * 10n ** BigInt(-scale) : unscaled;
    const places = Math.max(0, scale);
    const digits = String(value < 0n ? -value : value).padStart(places + 1, '0');
    const point = digits.length - places;
    const fraction = places === 0 ? '' : `.${digits.slice(point)}`;
    return this.writeText(`"${value < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}"`);
  }

  /** @param read items or members in JSON; called once */
  writeNested(open: '[' | '{', read: () => readonly string[]): string {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) {
      throw new UnreadableError(`it is nested deeper than ${MAX_DEPTH} levels`);
    }
    const parts = read();
    this.depth -= 1;
    return this.writeText(open) + parts.join(',') + (open === '[' ? ']' : '}');
  }
}

/** @throws UnreadableError for a time that no date can hold */
export function isoDate(epochMs: number): string {
  const date = new Date(epochMs);
  if (Number.isNaN(date.getTime())) throw new UnreadableError('it has a time that is no date');
  return date.toISOString();
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws UnreadableError for invalid UTF-8 */
export function decodeUtf8(bytes: Uint8Array): string {
  // takes a fifth of the time of a TextDecoder, and replaces invalid bytes by U+FFFD
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  if (!text.includes('\ufffd')) return text;
  try {
    return utf8.decode(bytes);
  } catch {
    throw new UnreadableError('it has a text that is not UTF-8');
  }
}
