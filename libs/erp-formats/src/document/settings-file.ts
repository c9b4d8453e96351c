import { parse as parseYaml } from 'yaml';
import { isIdentifier, isJsonObject, type JsonObject, printable } from '#libs/contracts';

/** An invalid settings file. The message names the entry and the field, and quotes no value. */
export class SettingsFileError extends Error {}

/** No aliases: with them a short file could expand to any size. */
export const YAML_OPTIONS = { schema: 'failsafe', maxAliasCount: 0, logLevel: 'error' } as const;

const MAX_TEXT_LENGTH = 1_048_576;

/**
 * Parses a settings file; in YAML every scalar is text.
 *
 * @param what name of the file in errors
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

/** The excerpt of the YAML library, which repeats the position that its message already has. */
const DRAWING = /:\n\n[^]*\^\n$/;
/** JSON.parse quotes the text, a short one completely. It may be a secret in the wrong place. */
const QUOTE = /, (\.{3})?"[^]*"(\.{3})?(?= is not valid JSON$)/;

/** The message of a YAML or JSON parser, on one line. */
export function syntaxFault(cause: unknown): string {
  return cause instanceof Error
    ? printable(cause.message.replace(DRAWING, '').replace(QUOTE, ''))
    : 'unknown fault';
}

/** Reads the fields of an object in the file. Each is read by its name. */
export class SettingsFields {
  private readonly json: JsonObject;
  private readonly namesRead = new Set<string>();

  constructor(
    json: unknown,
    readonly where: string,
  ) {
    if (!isJsonObject(json)) throw new SettingsFileError(`${where} must be an object`);
    this.json = json;
  }

  fault(name: string, problem: string): SettingsFileError {
    return new SettingsFileError(`${this.where}: ${name} ${problem}`);
  }

  optional(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value.trim() !== '' && value.length <= 2048) return value;
    throw this.fault(name, 'must be text of 1 to 2048 characters');
  }

  identifier(name: string): string | undefined {
    return this.value(name) === undefined ? undefined : this.requiredIdentifier(name);
  }

  requiredIdentifier(name: string): string {
    const value = this.value(name);
    if (isIdentifier(value)) return value;
    throw this.fault(name, 'must be text of 1 to 256 characters');
  }

  text(name: string): string {
    const value = this.optional(name);
    if (value === undefined) throw this.fault(name, 'is missing');
    return value;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.value(name) ?? fallback;
    if (value === true || value === 'true') return true;
    if (value === false || value === 'false') return false;
    throw this.fault(name, 'must be true or false');
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.value(name) ?? fallback;
    const isWritten = typeof value === 'number' || typeof value === 'string';
    const number = isWritten && /^\d+$/.test(String(value)) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    throw this.fault(name, `must be a whole number from ${min} to ${max}`);
  }

  object(name: string, problem = 'must be an object'): JsonObject | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (isJsonObject(value)) return value;
    throw this.fault(name, problem);
  }

  texts(name: string): Record<string, string> {
    const entries = Object.entries(this.object(name) ?? {});
    return Object.fromEntries(
      entries.map(([key, value]) => {
        if (typeof value === 'string' && value !== '') return [key, value];
        throw this.fault(`${name}.${key}`, 'must be text');
      }),
    );
  }

  /** Refuses fields that were not read: with a misspelt criterion a rule would apply to other events. */
  rejectOthers(): void {
    const other = Object.keys(this.json).find((name) => !this.namesRead.has(name));
    if (other !== undefined) throw this.fault(other, 'is no field of it');
  }

  value(name: string): unknown {
    this.namesRead.add(name);
    return Object.hasOwn(this.json, name) ? this.json[name] : undefined;
  }
}
