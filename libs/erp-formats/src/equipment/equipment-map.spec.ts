import { readFileSync } from 'node:fs';

import { EquipmentMap, parseEquipmentMap } from './equipment-map.js';
import { SettingsFileError } from '../document/settings-file.js';

const MAP = EquipmentMap.of([
  { plant: '1000', workCentre: 'FR01', machineId: 'M-1' },
  { plant: '2000', workCentre: 'FR01', machineId: 'M-2' },
  { plant: '1000', workCentre: 'DR01', machineId: 'M-3' },
]);

describe('the machine of an operation', () => {
  it.each([
    ['is the one it names itself', { machineId: 'M-9', workCentre: 'FR01', plant: '1000' }, 'M-9'],
    ['is that of its plant and work centre', { workCentre: 'FR01', plant: '2000' }, 'M-2'],
    ['is found without a plant where only one has the work centre', { workCentre: 'DR01' }, 'M-3'],
    ['is not guessed where two plants have the work centre', { workCentre: 'FR01' }, undefined],
    ['is not taken from another plant', { workCentre: 'DR01', plant: '2000' }, undefined],
    ['is not found for a work centre that is not mapped', { workCentre: 'X' }, undefined],
  ])('%s', (_name, operation, machineId) => {
    expect(MAP.machineOf(operation)).toBe(machineId);
  });

  it('is the work centre without a map', () => {
    expect(EquipmentMap.empty().machineOf({ workCentre: 'FR01', plant: '1000' })).toBe('FR01');
  });

  it('may have several work centres, all of which count', () => {
    const both = ['FR01', 'FR02'].map((workCentre) => ({
      plant: '1000',
      workCentre,
      machineId: 'M-1',
    }));

    expect(EquipmentMap.of(both)).toMatchObject({ size: 2, machineIds: new Set(['M-1']) });
    expect(EquipmentMap.empty().size).toBe(0);
  });

  it('is undefined with an empty map', () => {
    expect(EquipmentMap.of([]).machineOf({ workCentre: 'FR01', plant: '1000' })).toBeUndefined();
  });
});

describe('an equipment map file', () => {
  const entry = { plant: '0001', workCentre: 'FR01', machineId: 'M-1' };

  it.each([
    ['comma', 'plant,workCentre,machineId,note\r\n0001,FR01,M-1,"hall 3, north"\r\n'],
    ['semicolon', '\ufeffPlant;Work Centre;Machine ID;note\n\n0001; FR01 ;M-1;a, b\n'],
    ['tab', 'machine_id\tplant\twork_centre\nM-1\t0001\t"FR01"'],
  ])('is read from CSV with a %s, where a plant keeps its zeros', (_name, csv) => {
    expect(parseEquipmentMap(csv, 'csv')).toEqual([entry]);
  });

  it.each([
    ['rows of empty cells', 'plant;workCentre;machineId\r\n0001;FR01;M-1\r\n;;\r\n ; ;\r\n'],
    [
      'a line that names the separator',
      '\ufeffsep=;\r\nplant;workCentre;machineId\r\n0001;FR01;M-1',
    ],
    ['a separator of its own', 'sep=|\nplant|workCentre|machineId\n0001|FR01|M-1'],
    [
      'other separators in a quoted name',
      'plant,"note; of ""hall"";\n\tnorth",workCentre,machineId\n0001,none,FR01,M-1\n',
    ],
    [
      'quoted names alone',
      '"Plant";"Work Centre";"Machine ID";"note, if any"\n"0001";"FR01";"M-1";""\n',
    ],
  ])('is read from CSV with %s', (_name, csv) => {
    expect(parseEquipmentMap(csv, 'csv')).toEqual([entry]);
  });

  it('in another encoding is refused with the advice to save it as UTF-8', () => {
    const bytes = Buffer.from('plant,workCentre,machineId\n1000,FR\u00c4S,M-1\n', 'latin1');

    expect(() => parseEquipmentMap(bytes.toString(), 'csv')).toThrow(/save it as UTF-8/);
  });

  it.each([
    ['nothing', '', 'csv', /no entries/],
    ['column names alone', 'plant,workCentre,machineId\n', 'csv', /no entries/],
    ['a word', 'bad', 'csv', /no column plant, workCentre, machineId/],
    ['a column twice', 'plant,workCentre,Work-Centre,machineId\n', 'csv', /workCentre twice/],
    ['a key twice', '- plant: 1\n  plant: 2\n', 'yaml', /unique at line 2, column 3$/],
    ['an empty list', '[]', 'json', /no entries/],
    ['nothing', '', 'yaml', /must be a list/],
  ] as const)(
    'with %s in it is refused: it is cut, not the map, or not clear (%s, %s)',
    (_name, text, format, why) => {
      expect(() => parseEquipmentMap(text, format)).toThrow(why);
    },
  );

  it('of the demo maps the work centre of the demo order', () => {
    const entries = parseEquipmentMap(readFileSync('demo/equipment-map.json', 'utf8'), 'json');

    expect(EquipmentMap.of(entries).machineOf({ workCentre: 'D2O_ASSY', plant: 'HZ001' })).toBe(
      'M-001',
    );
  });

  it.each([
    [
      'a second entry for a work centre',
      [entry, { ...entry, machineId: 'M-2' }],
      'entry 2 .* repeats entry 1',
    ],
    ['an entry without a plant', [entry, { ...entry, plant: undefined }], 'entry 2 .*: plant'],
    ['a number as machineId', [{ ...entry, machineId: 1 }], 'entry 1 .*: machineId'],
    ['an entry that is none', [null], 'entry 1 .* must be an object'],
    ['anything but a list', { machines: [entry] }, 'must be a list'],
  ])('is refused with %s', (_name, content, complaint) => {
    const read = (): unknown => parseEquipmentMap(JSON.stringify(content), 'json');

    expect(read).toThrow(SettingsFileError);
    expect(read).toThrow(new RegExp(complaint));
  });

  it.each([
    ['JSON that is none', '[{', 'json'],
    ['YAML that is none', '- plant: "1', 'yaml'],
    ['CSV with a hole', 'plant,workCentre,machineId\n1000,FR01\n', 'csv'],
    ['CSV without the column', 'plant,machineId\n1000,FR01\n', 'csv'],
    ['CSV with an open quote', 'plant,workCentre,machineId\n1000,"FR01,M-1\n', 'csv'],
    ['aliases', '- &a {plant: p, workCentre: w, machineId: m}\n- *a\n', 'yaml'],
    ['nesting without end', '['.repeat(20_000), 'yaml'],
    ['more text than any plant has machines', ' '.repeat(5_000_000), 'yaml'],
  ] as const)('is refused with %s', (_name, text, format) => {
    expect(() => parseEquipmentMap(text, format)).toThrow(SettingsFileError);
  });
});
