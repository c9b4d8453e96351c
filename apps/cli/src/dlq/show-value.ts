import { readJson } from '#libs/contracts';
import { hexDump } from './hex-dump.js';
import { visibleLines } from '../command-line/visible-text.js';

const MAX_SHOWN_BYTES = 64 * 1024;

/** A value for the eye: what it is, and its lines, which hold nothing that steers a terminal. */
export interface ShownValue {
  heading: string;
  lines: string[];
}

/** JSON indented, other UTF-8 text as it is, all else as a hex dump; no more than the first 64 kB. */
export function showValue(value: Buffer | null): ShownValue {
  if (value === null) return { heading: 'no value', lines: [] };
  const isWhole = value.length <= MAX_SHOWN_BYTES;
  const shown = value.subarray(0, MAX_SHOWN_BYTES);
  const size = isWhole
    ? `${value.length} bytes`
    : `the first ${shown.length} of ${value.length} bytes (--raw writes all of them)`;
  const text = decode(shown, isWhole);
  if (text === undefined) return { heading: `value, binary, ${size}`, lines: hexDump(shown) };
  const json = isWhole ? indentedJson(value, text) : undefined;
  if (json !== undefined) return { heading: `value, JSON, ${size}`, lines: visibleLines(json) };
  return { heading: `value, text, ${size}`, lines: visibleLines(text) };
}

/** Of a value that is cut, the last character may be, too. */
function decode(bytes: Buffer, isWhole: boolean): string | undefined {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return decoder.decode(bytes, { stream: !isWhole });
  } catch {
    return undefined;
  }
}

/**
 * Only where it says the same: parsing drops repeated fields and the digits of large numbers, and
 * just those may be what is wrong with the message.
 */
function indentedJson(value: Buffer, text: string): string | undefined {
  const json = readJson(value);
  if (!json.ok || JSON.stringify(json.value) !== withoutWhitespace(text)) return undefined;
  return JSON.stringify(json.value, null, 2);
}

/** JSON text without the whitespace between its tokens. */
function withoutWhitespace(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, (_, literal?: string) => literal ?? '');
}
