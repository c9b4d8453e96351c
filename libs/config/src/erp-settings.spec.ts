import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../test/temporary-files.js';
import { EnvironmentReader } from './environment-reader.js';
import { readErpSettings } from './erp-settings.js';

describe('readErpSettings', () => {
  const folder = temporaryFolder();
  const operation = { plant: '0001', workCentre: 'FR01' };

  function read(path: string) {
    const env = new EnvironmentReader({ EQUIPMENT_MAP_FILE: path });
    return { ...readErpSettings(env), problems: env.problems };
  }

  function fileOf(name: string, content: string): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  it('uses the work centre as the machine without a map', () => {
    expect(read('').equipmentMap.machineOf(operation)).toBe('FR01');
  });

  it.each([
    ['map.json', '[{"plant": "0001", "workCentre": "FR01", "machineId": "M-7"}]'],
    ['map.yaml', '- plant: 0001\n  workCentre: FR01\n  machineId: M-7\n'],
    ['map.csv', 'plant;workCentre;machineId\n0001;FR01;M-7\n'],
    ['map.YML', '- { plant: 0001, workCentre: FR01, machineId: M-7 }\n'],
  ])('reads a list of entries: %s', (name, content) => {
    const { equipmentMap, problems } = read(fileOf(name, content));
    expect(problems).toEqual([]);
    expect(equipmentMap.machineOf(operation)).toBe('M-7');
    expect(equipmentMap.machineOf({ ...operation, plant: '0002' })).toBeUndefined();
  });

  it.each([
    ['no-list.json', '{}', 'must be a list'],
    ['no-json.json', '- plant: 0001', 'not valid json'],
    ['hole.yaml', '- { plant: 0001, workCentre: FR01 }', 'entry 1'],
  ])('names what is wrong with what is no map: %s', (name, content, why) => {
    const { problems } = read(fileOf(name, content));
    expect(problems).toEqual([expect.stringContaining('EQUIPMENT_MAP_FILE is no equipment map')]);
    expect(problems[0]).toContain(why);
  });

  it.each(['EQUIPMENT_MAP_FILE', 'ERP_MAPPING_FILE', 'ERP_ENRICHMENT_FILE'])(
    'quotes nothing of another file, which may hold a secret: %s',
    (name) => {
      const env = new EnvironmentReader({ [name]: fileOf('password', 's3cret-of-kafka') });
      readErpSettings(env);
      expect(env.problems).toEqual([expect.stringMatching(/not valid json: Unexpected token 's'/)]);
      expect(env.problems[0]).not.toContain('s3cret');
    },
  );

  it('names a missing file', () => {
    const { problems } = read(join(folder, 'missing.json'));
    expect(problems).toEqual([expect.stringContaining('ENOENT')]);
  });

  it.each([
    ['mapping.json', '[{"topic": "acme/*", "expression": "job"}]'],
    ['mapping.yml', '- topic: acme/*\n  expression: job\n'],
  ])('reads expressions for formats without an adapter: %s', (name, content) => {
    const env = new EnvironmentReader({ ERP_MAPPING_FILE: fileOf(name, content) });
    const { mapping } = readErpSettings(env);
    expect(env.problems).toEqual([]);
    expect(mapping).toEqual([{ name: '1', topic: 'acme/*', expression: 'job' }]);
  });

  it('names the entry and the character of an invalid expression', () => {
    const path = fileOf('wrong.json', '[{"topic": "acme", "expression": "{"}]');
    const env = new EnvironmentReader({ ERP_MAPPING_FILE: path });
    readErpSettings(env);
    expect(env.problems).toEqual([
      expect.stringMatching(/ERP_MAPPING_FILE is no mapping: entry 1 .* at character 1/),
    ]);
  });
});
