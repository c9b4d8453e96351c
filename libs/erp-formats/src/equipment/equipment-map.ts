import { parse as parseYaml } from 'yaml';
import { parse } from 'csv-parse/sync';
import type { OrderOperation } from '#libs/contracts';
import {
  SettingsFields,
  SettingsFileError,
  syntaxFault,
  YAML_OPTIONS,
} from '../document/settings-file.js';

/** Maps plants and work centres to machines. */
export class EquipmentMap {
  private constructor(
    /** By work centre, then plant, the machineId; null: no map is configured. */
    private readonly machines: ReadonlyMap<string, ReadonlyMap<string, string>> | null,
  ) {}

  static of(entries: readonly EquipmentMapEntry[]): EquipmentMap {
    const machines = new Map<string, Map<string, string>>();
    for (const { plant, workCentre, machineId } of entries) {
      const plants = machines.get(workCentre) ?? new Map<string, string>();
      machines.set(workCentre, plants.set(plant, machineId));
    }
    return new EquipmentMap(machines);
  }

  /** No map: the work centre is the machineId. */
  static empty(): EquipmentMap {
    return new EquipmentMap(null);
  }

  /** Number of mapped work centres. */
  get size(): number {
    let size = 0;
    for (const plants of this.machines?.values() ?? []) size += plants.size;
    return size;
  }

  /** All machines of the map; empty without a map. */
  get machineIds(): ReadonlySet<string> {
    const plants = [...(this.machines?.values() ?? [])];
    return new Set(plants.flatMap((machines) => [...machines.values()]));
  }

  /**
   * The machine of an operation; undefined: it is not mapped (`unmapped-work-centre`). A machineId in the operation
   * takes precedence. Without a plant, the operation is mapped if exactly one plant has its work centre. Without a map,
   * the work centre is the machineId.
   */
  machineOf(
    operation: Pick<OrderOperation, 'machineId' | 'workCentre' | 'plant'>,
  ): string | undefined {
    const { machineId, workCentre, plant } = operation;
    if (machineId !== undefined || workCentre === undefined) return machineId;
    if (this.machines === null) return workCentre;
    const plants = this.machines.get(workCentre);
    if (plant !== undefined) return plants?.get(plant);
    return plants?.size === 1 ? [...plants.values()][0] : undefined;
  }
}

export interface EquipmentMapEntry {
  plant: string;
  workCentre: string;
  machineId: string;
}

const MAX_TEXT_LENGTH = 4_194_304;
const FIELDS = ['plant', 'workCentre', 'machineId'] as const;

type EquipmentMapFormat = 'json' | 'yaml' | 'csv';

/** The format by the file's extension; JSON by default. */
export function equipmentMapFormat(path: string): EquipmentMapFormat {
  if (/\.ya?ml$/i.test(path)) return 'yaml';
  return /\.csv$/i.test(path) ? 'csv' : 'json';
}

/**
 * Reads a list of `{plant, workCentre, machineId}`; further fields are tolerated. In YAML and CSV every scalar is text,
 * so that plant 0001 keeps its zeros without quotes. CSV begins with a line of column names and is separated by comma,
 * semicolon or tab. Refuses a map without entries, which would remove every order from its machines. Throws {@link
 * SettingsFileError}.
 */
export function parseEquipmentMap(text: string, format: EquipmentMapFormat): EquipmentMapEntry[] {
  try {
    return readEntries(READERS[format](boundedText(text)));
  } catch (cause) {
    throw invalid(format, cause);
  }
}

/**
 * Parses a map without blocking the process: 50,000 entries in YAML take seconds.
 *
 * @param readYaml parses in another thread, with {@link YAML_OPTIONS}
 */
export async function parseEquipmentMapAsync(
  text: string,
  format: EquipmentMapFormat,
  readYaml: (text: string) => Promise<unknown>,
): Promise<EquipmentMapEntry[]> {
  if (format !== 'yaml') return parseEquipmentMap(text, format);
  try {
    return readEntries(await readYaml(boundedText(text)));
  } catch (cause) {
    throw invalid(format, cause);
  }
}

function boundedText(text: string): string {
  // decoding replaces invalid UTF-8 by this character
  if (text.includes('\ufffd')) {
    throw new SettingsFileError('the equipment map is not UTF-8: save it as UTF-8');
  }
  const bounded = text.replace(/^\ufeff/, '');
  if (bounded.length <= MAX_TEXT_LENGTH) return bounded;
  throw new SettingsFileError(`the equipment map is longer than ${MAX_TEXT_LENGTH} characters`);
}

function readEntries(content: unknown): EquipmentMapEntry[] {
  if (!Array.isArray(content)) {
    throw new SettingsFileError('the equipment map must be a list of entries');
  }
  if (content.length === 0) throw new SettingsFileError('the equipment map has no entries');
  const entries = content.map((entry: unknown, index) => readEntry(entry, index + 1));
  refuseDuplicates(entries);
  return entries;
}

function invalid(format: EquipmentMapFormat, cause: unknown): SettingsFileError {
  if (cause instanceof SettingsFileError) return cause;
  const why = `the equipment map is not valid ${format}: ${syntaxFault(cause)}`;
  return new SettingsFileError(why, { cause });
}

const READERS: Readonly<Record<EquipmentMapFormat, (text: string) => unknown>> = {
  json: (text): unknown => JSON.parse(text),
  yaml: (text): unknown => parseYaml(text, YAML_OPTIONS),
  csv: readCsvMap,
};

function readEntry(entry: unknown, position: number): EquipmentMapEntry {
  const fields = new SettingsFields(entry, `entry ${position} of the equipment map`);
  const [plant = '', workCentre = '', machineId = ''] = FIELDS.map((name) =>
    fields.requiredIdentifier(name).trim(),
  );
  return { plant, workCentre, machineId };
}

function refuseDuplicates(entries: readonly EquipmentMapEntry[]): void {
  const positions = new Map<string, number>();
  entries.forEach(({ plant, workCentre }, index) => {
    const key = JSON.stringify([plant, workCentre]);
    const earlier = positions.get(key);
    if (earlier !== undefined) {
      throw new SettingsFileError(
        `entry ${index + 1} of the equipment map repeats entry ${earlier}: plant ${plant}, work centre ${workCentre}`,
      );
    }
    positions.set(key, index + 1);
  });
}

/**
 * Parses CSV to rows by column name. Spreadsheets may write `sep=;` first and rows of empty cells at the end.
 *
 * @throws Error for invalid CSV, or where a column is missing or repeated
 */
function readCsvMap(csv: string): unknown {
  const [, separator, table = ''] = /^\s*(?:"?sep=(.)"?\r?\n)?([^]*)$/i.exec(csv) ?? [];
  return parse(table, {
    columns: columnsOf,
    delimiter: separator ?? delimiterOf(table),
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    trim: true,
  });
}

/** Spreadsheets write semicolons in locales with a decimal comma. Separators in quotes are part of a name. */
function delimiterOf(csv: string): string {
  const [names = ''] = csv
    .trimStart()
    .replace(/"[^"]*"/g, '')
    .split(/[\r\n]/, 1);
  return [';', '\t'].find((delimiter) => names.includes(delimiter)) ?? ',';
}

function columnsOf(names: readonly string[]): string[] {
  const found = names.map(columnName);
  const missing = FIELDS.filter((column) => !found.includes(column));
  if (missing.length > 0) throw new Error(`the first line has no column ${missing.join(', ')}`);
  const twice = FIELDS.find((column) => found.indexOf(column) !== found.lastIndexOf(column));
  if (twice !== undefined) throw new Error(`the first line has column ${twice} twice`);
  return found;
}

/** Accepts any case, blanks, hyphens and underscores in a column name. */
function columnName(name: string): string {
  const plain = name.toLowerCase().replace(/[\s_-]/g, '');
  return FIELDS.find((column) => column.toLowerCase() === plain) ?? name;
}
