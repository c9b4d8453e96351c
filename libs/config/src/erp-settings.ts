import {
  EquipmentMap,
  equipmentMapFormat,
  type MappingEntry,
  parseEquipmentMap,
  parseOrderMapping,
} from '#libs/erp-formats';
import { expressionFault } from '#libs/expressions';
import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';

/** A day: a larger skew would accept any time. */
const LARGEST_SKEW_SECONDS = 86_400;

export interface ErpSettings {
  /** Which work centre is which machine; without a file a work centre is taken as the machineId. */
  equipmentMap: EquipmentMap;
  /** Source of the map, to notice when it changes; undefined without a file. */
  equipmentMapFile: { path: string; content: string } | undefined;
  /** Expressions for formats without an adapter, each checked; none without a file. */
  mapping: readonly MappingEntry[];
  /** IANA zone of the ERP's local times. */
  timeZone: string;
  /** How far ahead of the clock `issuedAt` and `changedAt` may lie. */
  commandMaxSkewSeconds: number;
}

/**
 * The ERP settings alone, for the commands.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function loadErpSettings(environment: Environment): ErpSettings {
  return readSettings(environment, readErpSettings);
}

export function readErpSettings(env: EnvironmentReader): ErpSettings {
  return {
    timeZone: env.timeZone('ERP_TIME_ZONE'),
    commandMaxSkewSeconds: env.integer('COMMAND_MAX_SKEW_SECONDS', {
      default: 300,
      max: LARGEST_SKEW_SECONDS,
    }),
    ...readEquipmentMap(env),
    mapping: readMapping(env),
  };
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
