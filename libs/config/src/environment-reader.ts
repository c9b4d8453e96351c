import { statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { parseDocument } from 'yaml';
import { misspeltSettings } from './misspelt-settings.js';
import { FileTooLargeError, readSettingsFile } from './settings-file.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The exit code of a process whose settings are wrong (sysexits: EX_CONFIG). */
export const EXIT_CODE_BAD_SETTINGS = 78;

/** All problems of the settings, by name and never with a value. */
export class SettingsError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(['The settings are wrong:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.name = 'SettingsError';
  }
}

/** The only place that reads the process's environment. */
export function readEnvironment(): Environment {
  return process.env;
}

const namesFromFile = new Set<string>();

/**
 * Adds settings of a file in the format of `.env`. Values of the environment take precedence.
 *
 * @throws Error when the file cannot be read
 */
export function loadSettingsFile(path: string): void {
  // Windows editors write a byte order mark, which would belong to the first name
  const settings = parseEnv(readSettingsFile(path).replace(/^\uFEFF/, ''));
  for (const [key, value] of Object.entries(settings)) {
    // Node 20 prepends a line without = to the next name; other parsers ignore such a line
    const name = key.replace(/^.*\n\s*(export\s)?/s, '').trim();
    if ((process.env[name] ?? '').trim() !== '') continue;
    process.env[name] = value;
    namesFromFile.add(name);
  }
}

/** Whether {@link loadSettingsFile} has added the setting. */
export function isFromFile(name: string): boolean {
  return namesFromFile.has(name);
}

/** @throws SettingsError naming everything that is wrong */
export function readSettings<T>(environment: Environment, read: (env: EnvironmentReader) => T): T {
  const env = new EnvironmentReader(environment);
  const settings = read(env);
  if (env.problems.length > 0) throw new SettingsError(problemsOf(env));
  return settings;
}

/** Adds misspelt names to other problems: a missing setting may be set under one. */
export function problemsOf(env: EnvironmentReader): string[] {
  if (env.problems.length === 0) return [];
  const misspelt = env.misspelt().map(({ name, meant }) => `${name} is not a setting: ${meant} is`);
  return [...env.problems, ...misspelt];
}

/** A setting without effect, and what to do instead. */
export interface UnsupportedSetting {
  name: string;
  instead: string;
}

/** Settings that are partly in files, which may be replaced while the process runs. */
export interface FromFiles<T> {
  /** As read at the start. */
  readonly value: T;
  /** The files read last: a file may name others. */
  readonly files: readonly string[];
  /** {@link versionOf} these files when they were read. */
  readonly version: string;
  /** @throws SettingsError with all problems of the files' current content */
  readonly readAgain: () => T;
}

/**
 * A text that changes when one of the files does. It includes the inode, because a mounted secret is replaced by
 * switching a link. A file that becomes unreadable counts as changed: reading it again reports why, with its setting.
 */
export function versionOf(files: readonly string[]): string {
  const versions = files.map((path) => {
    try {
      const { mtimeNs, ctimeNs, size, ino } = statSync(path, { bigint: true });
      return [mtimeNs, ctimeNs, size, ino].join(':');
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    }
  });
  return versions.join(' ');
}

interface ReadFile {
  path: string;
  version: string;
}

function filesOf(read: readonly ReadFile[]): Pick<FromFiles<unknown>, 'files' | 'version'> {
  return {
    files: read.map(({ path }) => path),
    version: read.map(({ version }) => version).join(' '),
  };
}

/** `docker run --env-file` keeps the quotes around a value, which systemd and shells remove. */
const QUOTED = /^(["']).*\1$/s;
const MAY_BE_QUOTED = /(PASSWORD|SECRET|HEADERS)$/;

const DECIMAL = /^\d*\.?\d+$/;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface IntegerBounds {
  default: number;
  min?: number;
  max?: number;
}

/**
 * Reads typed values from the environment and collects every problem by the setting's name, so
 * that all of them are reported at once. An empty value counts as absent. Problems never quote a
 * value: it may be a secret in the wrong place.
 */
export class EnvironmentReader {
  readonly problems: string[] = [];
  /** The settings that were read, each with its default; undefined where it has none. */
  readonly settingsRead = new Map<string, string | undefined>();
  /** The files whose content was read, and their versions before that. */
  private readonly files: ReadFile[] = [];

  constructor(private readonly env: Environment) {}

  optional(name: string, fallback?: string): string | undefined {
    if (fallback !== undefined || !this.settingsRead.has(name))
      this.settingsRead.set(name, fallback);
    const value = this.env[name]?.trim();
    if (value !== undefined && QUOTED.test(value) && !MAY_BE_QUOTED.test(name)) {
      this.refuse(name, 'is in quotes, which belong to its value here: leave them out');
    }
    return value === '' ? undefined : value;
  }

  isSet(name: string): boolean {
    return this.optional(name) !== undefined;
  }

  /** Names with this prefix that are set and have not been read. */
  unreadNames(prefix: string): string[] {
    return Object.keys(this.env).filter(
      (name) =>
        name.startsWith(prefix) && !this.settingsRead.has(name) && this.env[name]?.trim() !== '',
    );
  }

  /** Names that are set and not settings, each with the similar settings. */
  misspelt(): { name: string; meant: string }[] {
    return misspeltSettings(this.env, [...this.settingsRead.keys()]);
  }

  /** Misspelt names, for the warning of a program that starts: they have no effect. */
  ineffectiveSettings(): UnsupportedSetting[] {
    return this.misspelt().map(({ name, meant }) => ({
      name,
      instead: `it is not a setting: ${meant} is`,
    }));
  }

  text(name: string, fallback: string): string {
    return this.optional(name, fallback) ?? fallback;
  }

  required(name: string, what: string): string {
    const value = this.optional(name);
    if (value === undefined) this.refuse(name, `is required: ${what}`);
    return value ?? '';
  }

  integer(name: string, bounds: IntegerBounds): number {
    this.settingsRead.set(name, String(bounds.default));
    return this.optionalInteger(name, bounds) ?? bounds.default;
  }

  optionalInteger(name: string, bounds: Omit<IntegerBounds, 'default'>): number | undefined {
    const raw = this.optional(name);
    if (raw === undefined) return undefined;
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
    const value = Number(raw);
    if (/^\d+$/.test(raw) && value >= min && value <= max) return value;
    this.refuse(name, `must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  /** A decimal number, with or without a fraction. */
  positiveNumber(name: string, max = Infinity): number | undefined {
    const raw = this.optional(name);
    if (raw === undefined) return undefined;
    const value = Number(raw);
    if (DECIMAL.test(raw) && Number.isFinite(value) && value > 0 && value <= max) return value;
    this.refuse(name, `must be a number above 0${max === Infinity ? '' : `, ${max} at most`}`);
    return undefined;
  }

  flag(name: string, fallback: boolean): boolean {
    const raw = this.optional(name, String(fallback))?.toLowerCase();
    if (raw === undefined) return fallback;
    if (raw === 'true' || raw === 'false') return raw === 'true';
    this.refuse(name, 'must be true or false');
    return fallback;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const raw = this.optional(name, fallback);
    if (raw === undefined) return fallback;
    const found = allowed.find((candidate) => candidate === raw);
    if (found === undefined) this.refuse(name, `must be one of ${allowed.join(', ')}`);
    return found ?? fallback;
  }

  logLevel(): LogLevel {
    return this.oneOf<LogLevel>('LOG_LEVEL', LOG_LEVELS, 'info');
  }

  /** A zone of the IANA database that the runtime knows; UTC unless given. */
  timeZone(name: string): string {
    const timeZone = this.text(name, 'UTC');
    try {
      new Intl.DateTimeFormat('en', { timeZone });
    } catch {
      this.refuse(name, 'must be an IANA time zone such as Europe/Berlin');
    }
    return timeZone;
  }

  list(name: string, fallback: readonly string[]): string[] {
    const raw = this.optional(name, fallback.join(','));
    if (raw === undefined) return [...fallback];
    return raw
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  }

  /** Undefined where `read` returns undefined: none of its settings is set. */
  fromFiles<T>(read: (env: EnvironmentReader) => T | undefined): FromFiles<T> | undefined {
    const before = this.files.length;
    const value = read(this);
    if (value === undefined) return undefined;
    const settings = {
      value,
      ...filesOf(this.files.slice(before)),
      readAgain: (): T =>
        readSettings(this.env, (again) => {
          const renewed = read(again) ?? value;
          Object.assign(settings, filesOf(again.files));
          return renewed;
        }),
    };
    return settings;
  }

  /** A secret given directly or, by the name with `_FILE`, as the content of a file. */
  secret(name: string): string | undefined {
    const direct = this.optional(name);
    if (direct !== undefined && this.isSet(`${name}_FILE`)) {
      this.refuse(name, `and ${name}_FILE are both set: keep one`);
    }
    return direct ?? this.file(`${name}_FILE`);
  }

  requiredSecret(name: string, what: string): string {
    const isGiven = this.isSet(name) || this.isSet(`${name}_FILE`);
    if (!isGiven) this.refuse(name, `or ${name}_FILE is required: ${what}`);
    return this.secret(name) ?? '';
  }

  /**
   * A secret in a variable or file that a settings file names. A problem names `setting`, that of the settings file.
   */
  secretAt(place: { env: string } | { file: string }, setting: string): string {
    if ('file' in place) return this.fileContent(setting, place.file) ?? '';
    const secret = this.env[place.env]?.trim() ?? '';
    if (secret === '') this.refuse(setting, `names ${place.env}, which is not set`);
    return secret;
  }

  /** The content of the file that a setting names; undefined where it is not set or cannot be read. */
  file(name: string): string | undefined {
    const path = this.optional(name);
    return path === undefined ? undefined : this.fileContent(name, path);
  }

  /** The JSON value in the file that a setting names; undefined where it is not set or not JSON. */
  json(name: string): unknown {
    const content = this.file(name);
    if (content === undefined) return undefined;
    try {
      const json: unknown = JSON.parse(content);
      const line = lineOfRepeatedName(content);
      if (line !== undefined) {
        this.refuse(name, `names a file in which line ${line} repeats a name: keep one of the two`);
      }
      return json;
    } catch {
      this.refuse(name, 'names a file that is not JSON');
      return undefined;
    }
  }

  /** The content of a file that a setting names, white space trimmed. */
  fileContent(name: string, path: string): string | undefined {
    this.files.push({ path, version: versionOf([path]) });
    try {
      const content = readSettingsFile(path).trim();
      if (content !== '') return content;
      this.refuse(name, 'names a file that is empty');
    } catch (error) {
      const why = error instanceof FileTooLargeError ? error.message : errorCode(error);
      this.refuse(name, `names a file that cannot be read (${why})`);
    }
    return undefined;
  }

  refuse(name: string, what: string): void {
    const problem = `${name} ${what}`;
    // a setting may be read several times
    if (!this.problems.includes(problem)) this.problems.push(problem);
  }
}

/** Finds two fields of one name, such as two senders, of which `JSON.parse` takes the last. JSON is also YAML. */
function lineOfRepeatedName(json: string): number | undefined {
  const repeated = parseDocument(json).errors.find(({ code }) => code === 'DUPLICATE_KEY');
  return repeated?.linePos?.[0].line;
}

function errorCode(error: unknown): string {
  const known = typeof error === 'object' && error !== null && 'code' in error;
  return known ? String(error.code) : 'unknown error';
}
