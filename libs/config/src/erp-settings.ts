import {
  EquipmentMap,
  OrderMapping,
  parseEquipmentMap,
  parseOrderMapping,
  type EquipmentMapFormat,
} from '#libs/erp-formats';
import { type EnvironmentReader } from './environment-reader.js';
import { isTimeZone } from './time-zone.js';

export interface ErpSettings {
  /** Which work centre is which machine; without a file a work centre is taken as the machineId. */
  equipmentMap: EquipmentMap;
  /** Expressions for formats without an adapter; none without a file. */
  mapping: OrderMapping;
  /** IANA zone of the ERP's local times. */
  timeZone: string;
}

export function readErpSettings(env: EnvironmentReader): ErpSettings {
  const timeZone = env.text('ERP_TIME_ZONE', 'UTC');
  if (!isTimeZone(timeZone)) {
    env.problem('ERP_TIME_ZONE', 'must be an IANA time zone such as Europe/Berlin');
  }
  return { timeZone, equipmentMap: readEquipmentMap(env), mapping: readMapping(env) };
}

function readEquipmentMap(env: EnvironmentReader): EquipmentMap {
  const name = 'EQUIPMENT_MAP_FILE';
  const path = env.optional(name);
  const content = path === undefined ? undefined : env.fileContent(name, path);
  if (path === undefined || content === undefined) return EquipmentMap.empty();
  try {
    return EquipmentMap.of(parseEquipmentMap(content, formatOf(path)));
  } catch (error) {
    env.problem(name, `is no equipment map: ${(error as Error).message}`);
    return EquipmentMap.empty();
  }
}

function readMapping(env: EnvironmentReader): OrderMapping {
  const name = 'ERP_MAPPING_FILE';
  const path = env.optional(name);
  const content = path === undefined ? undefined : env.fileContent(name, path);
  if (path === undefined || content === undefined) return OrderMapping.none();
  try {
    return parseOrderMapping(content, formatOf(path) === 'yaml' ? 'yaml' : 'json');
  } catch (error) {
    env.problem(name, `is no mapping: ${(error as Error).message}`);
    return OrderMapping.none();
  }
}

function formatOf(path: string): EquipmentMapFormat {
  if (/\.ya?ml$/i.test(path)) return 'yaml';
  return /\.csv$/i.test(path) ? 'csv' : 'json';
}
