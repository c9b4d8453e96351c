import { readFileSync } from 'node:fs';
import { type BridgeSettings, SettingsError } from '#libs/config';
import { EquipmentMap, parseEquipmentMap } from '#libs/erp-formats';

/**
 * The map of `EQUIPMENT_MAP_FILE`, read once at start.
 *
 * @throws SettingsError when the file cannot be read or an entry is wrong
 */
export function loadEquipmentMap({ erp }: BridgeSettings): EquipmentMap {
  const path = erp.equipmentMapFile;
  if (path === undefined) return EquipmentMap.empty();
  const format = /\.ya?ml$/i.test(path) ? 'yaml' : 'json';
  try {
    return EquipmentMap.of(parseEquipmentMap(readFileSync(path, 'utf8'), format));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SettingsError([`EQUIPMENT_MAP_FILE is no equipment map: ${why}`]);
  }
}
