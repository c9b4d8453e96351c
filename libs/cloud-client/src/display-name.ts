import { type FieldReader } from './field-reader.js';

/** The interface calls the display name an object and does not show its inside: likely names first. */
const LIKELY_NAMES = ['en', 'name', 'value', 'displayName'];
/** Enough for a name per language inside a wrapper; a hostile answer may be nested far deeper. */
const DEEPEST_LEVEL = 3;

/** A name the interface calls a string, whatever it was sent as; `absent` when there is none to be found. */
export function readName({ value }: FieldReader, absent: string): string {
  return typeof value === 'number' ? String(value) : (readDisplayName(value) ?? absent);
}

/** The text of a display name given as a string or as an object of any structure, if it has one. */
export function readDisplayName(name: unknown, level = 0): string | undefined {
  if (typeof name === 'string') return name.trim() === '' ? undefined : name;
  if (typeof name !== 'object' || name === null || level > DEEPEST_LEVEL) return undefined;
  const entries = Object.entries(name);
  const likelyFirst = [
    ...LIKELY_NAMES.flatMap((likely) => entries.filter(([key]) => key === likely)),
    ...entries.filter(([key]) => !LIKELY_NAMES.includes(key)),
  ];
  for (const [, value] of likelyFirst) {
    const text = readDisplayName(value, level + 1);
    if (text !== undefined) return text;
  }
  return undefined;
}
