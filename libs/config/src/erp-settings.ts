import {
  EquipmentMap,
  equipmentMapFormat,
  type MappingEntry,
  parseEquipmentMap,
  parseOrderMapping,
} from '#libs/erp-formats';
import { expressionFault } from '#libs/expressions';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { SettingsError } from './settings-error.js';
import { isTimeZone } from './time-zone.js';

/** A day: who takes times that lie further ahead takes any. */
const LARGEST_SKEW_SECONDS = 86_400;

export interface ErpSettings {
  /** Which work centre is which machine; without a file a work centre is taken as the machineId. */
  equipmentMap: EquipmentMap;
  /** Where the map was read from and what was there, to see when it changes; undefined without a file. */
  equipmentMapFile: { path: string; content: string } | undefined;
  /** Expressions for formats without an adapter, each checked; none without a file. */
  mapping: readonly MappingEntry[];
  /** IANA zone of the ERP's local times. */
  timeZone: string;
  /** How far ahead of the clock `issuedAt` and `changedAt` may lie. */
  commandMaxSkewSeconds: number;
}

/**
 * For what reads ERP documents without being the bridge.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function loadErpSettings(environment: Environment): ErpSettings {
  const env = new EnvironmentReader(environment);
  const settings = readErpSettings(env);
  if (env.problems.length > 0) throw new SettingsError(env.problems);
  return settings;
}

export function readErpSettings(env: EnvironmentReader): ErpSettings {
  const timeZone = env.text('ERP_TIME_ZONE', 'UTC');
  if (!isTimeZone(timeZone)) {
    env.problem('ERP_TIME_ZONE', 'must be an IANA time zone such as Europe/Berlin');
  }
  const commandMaxSkewSeconds = env.integer('COMMAND_MAX_SKEW_SECONDS', {
    default: 300,
    max: LARGEST_SKEW_SECONDS,
  });
  return { timeZone, commandMaxSkewSeconds, ...readEquipmentMap(env), mapping: readMapping(env) };
}

function readEquipmentMap(
  env: EnvironmentReader,
): Pick<ErpSettings, 'equipmentMap' | 'equipmentMapFile'> {
  const none = { equipmentMap: EquipmentMap.empty(), equipmentMapFile: undefined };
  const name = 'EQUIPMENT_MAP_FILE';
  const path = env.optional(name);
  const content = path === undefined ? undefined : env.fileContent(name, path);
  if (path === undefined || content === undefined) return none;
  try {
    const entries = parseEquipmentMap(content, equipmentMapFormat(path));
    return { equipmentMap: EquipmentMap.of(entries), equipmentMapFile: { path, content } };
  } catch (error) {
    env.problem(name, `is no equipment map: ${(error as Error).message}`);
    return none;
  }
}

function readMapping(env: EnvironmentReader): readonly MappingEntry[] {
  const name = 'ERP_MAPPING_FILE';
  const path = env.optional(name);
  const content = path === undefined ? undefined : env.fileContent(name, path);
  if (path === undefined || content === undefined) return [];
  try {
    const format = /\.ya?ml$/i.test(path) ? 'yaml' : 'json';
    return parseOrderMapping(content, format, expressionFault);
  } catch (error) {
    env.problem(name, `is no mapping: ${(error as Error).message}`);
    return [];
  }
}
