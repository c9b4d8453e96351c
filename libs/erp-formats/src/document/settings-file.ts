import { parse as parseYaml } from 'yaml';
import { printable } from '#libs/contracts';

/** A file of settings that cannot be used. The message names the entry and the field, and quotes no value. */
export class SettingsFileError extends Error {}

/** No aliases: a short file could otherwise unfold into any size. */
export const YAML_OPTIONS = { schema: 'failsafe', maxAliasCount: 0, logLevel: 'error' } as const;

const MAX_TEXT_LENGTH = 1_048_576;

/**
 * What a file holds; in YAML every scalar is text.
 *
 * @param what the file is called
 * @throws SettingsFileError
 */
export function readSettingsText(text: string, format: 'json' | 'yaml', what: string): unknown {
  const bounded = text.replace(/^\ufeff/, '');
  if (bounded.length > MAX_TEXT_LENGTH) {
    throw new SettingsFileError(`${what} is longer than ${MAX_TEXT_LENGTH} characters`);
  }
  try {
    return format === 'json' ? JSON.parse(bounded) : parseYaml(bounded, YAML_OPTIONS);
  } catch (cause) {
    throw new SettingsFileError(`${what} is not valid ${format}: ${syntaxFault(cause)}`, { cause });
  }
}

/** The lines in which the YAML library draws the place that it has named before. */
const DRAWING = /:\n\n[^]*\^\n$/;

/** What a parser of a settings file has to say, on one line. */
export function syntaxFault(cause: unknown): string {
  return cause instanceof Error ? printable(cause.message.replace(DRAWING, '')) : 'unknown fault';
}
