import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BridgeSettings, loadBridgeSettings, SettingsError } from '#libs/config';
import { loadEquipmentMap } from './equipment-map.provider.js';

function settingsWith(equipmentMapFile: string): BridgeSettings {
  return loadBridgeSettings({
    KAFKA_BROKERS: 'kafka:9092',
    MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com',
    MACHINE_CLOUD_TOKEN: 'a-token',
    EQUIPMENT_MAP_FILE: equipmentMapFile,
  });
}

describe('loadEquipmentMap', () => {
  const folder = mkdtempSync(join(tmpdir(), 'equipment-map-'));
  const operation = { plant: '0001', workCentre: 'FR01' };

  function fileOf(name: string, content: string): BridgeSettings {
    const path = join(folder, name);
    writeFileSync(path, content);
    return settingsWith(path);
  }

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it('takes a work centre for the machine where no map is configured', () => {
    expect(loadEquipmentMap(settingsWith('')).machineOf(operation)).toBe('FR01');
  });

  it.each([
    ['map.json', '[{"plant": "0001", "workCentre": "FR01", "machineId": "M-7"}]'],
    ['map.yaml', '- plant: 0001\n  workCentre: FR01\n  machineId: M-7\n'],
    ['map.YML', '- { plant: 0001, workCentre: FR01, machineId: M-7 }\n'],
  ])('reads a list of entries: %s', (name, content) => {
    const map = loadEquipmentMap(fileOf(name, content));
    expect(map.machineOf(operation)).toBe('M-7');
    expect(map.machineOf({ ...operation, plant: '0002' })).toBeUndefined();
  });

  it.each([
    ['no-list.json', '{}', 'must be a list'],
    ['no-json.json', '- plant: 0001', 'not valid json'],
    ['hole.yaml', '- { plant: 0001, workCentre: FR01 }', 'entry 1'],
  ])('refuses to start with what is no map: %s', (name, content, why) => {
    const load = (): unknown => loadEquipmentMap(fileOf(name, content));
    expect(load).toThrow(SettingsError);
    expect(load).toThrow('EQUIPMENT_MAP_FILE is no equipment map');
    expect(load).toThrow(why);
  });

  it('refuses to start without the file it is told to read', () => {
    const load = (): unknown => loadEquipmentMap(settingsWith(join(folder, 'missing.json')));
    expect(load).toThrow(SettingsError);
    expect(load).toThrow('ENOENT');
  });
});
