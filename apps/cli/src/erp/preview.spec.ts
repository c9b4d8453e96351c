import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OperationChange } from '#libs/contracts';
import { EnrichmentRules, EquipmentMap } from '#libs/erp-formats';
import { documentLines } from './preview.js';
import { temporaryFolder } from '../../../../libs/config/test/temporary-files.js';
import { FileRecords, findSourceFiles } from './source-files.js';

describe('the lines of a previewed document', () => {
  const linesOf = (timeZone: string, ...operations: OperationChange[]) => {
    const order = { orderId: '4711', changedAt: 1_701_666_000, operations };
    return documentLines(
      { messages: [{ kind: 'change', order }], machineIds: [], rejections: [], superseded: [] },
      { equipmentMap: EquipmentMap.empty(), timeZone },
    );
  };
  const operation = { operationId: '10', status: 'released', machineId: 'M-1' } as const;

  it.each([
    ['UTC', '2023-12-04T00:00:00Z', '2023-12-04T00:00:00Z'],
    ['Europe/London', '2023-12-04T12:00:00Z', '2023-12-04T12:00:00Z'],
    ['Europe/Berlin', '2023-12-04T05:00:00Z', '2023-12-04T06:00:00+01:00'],
    ['Europe/Berlin', '2023-07-04T04:00:00Z', '2023-07-04T06:00:00+02:00'],
    ['Europe/Berlin', '2023-12-03T23:00:00Z', '2023-12-04T00:00:00+01:00'],
    ['America/Denver', '2024-01-01T03:04:05Z', '2023-12-31T20:04:05-07:00'],
    ['Asia/Kathmandu', '2023-12-04T06:15:00Z', '2023-12-04T12:00:00+05:45'],
  ])(
    'show the sequence and the planned start of an operation: in %s, %s',
    (zone, instant, shown) => {
      const plannedStart = Date.parse(instant) / 1000;
      expect(linesOf(zone, { ...operation, sequence: 3, plannedStart })[1]).toBe(
        `    10: released on M-1, sequence 3, planned start ${shown}`,
      );
    },
  );

  it('leave both out where they are absent or the sequence is 0', () => {
    expect(linesOf('UTC', operation, { ...operation, operationId: '20', sequence: 0 })).toEqual([
      '  change of order 4711: status as before, changed 2023-12-04T05:00:00Z',
      '    10: released on M-1',
      '    20: released on M-1',
      '  no list would be set',
    ]);
  });
});

describe('documents to preview', () => {
  const folder = temporaryFolder();
  const file = (name: string) => writeFileSync(join(folder, name), '{}');

  beforeAll(() => {
    // the layout in which Kubernetes mounts a ConfigMap
    mkdirSync(join(folder, '..2025_11_21'));
    file('..2025_11_21/2.json');
    symlinkSync('..2025_11_21', join(folder, '..data'));
    symlinkSync(join('..data', '2.json'), join(folder, '2.json'));
    file('1.json');
    file('.DS_Store');
    mkdirSync(join(folder, 'sap', 'odata'), { recursive: true });
    file('sap/odata/4.json');
    file('sap/3.json');
    file('sap/.hidden');
    mkdirSync(join(folder, 'sap', 'empty'));
    symlinkSync('..', join(folder, 'sap', 'up'));
    file('sap.json');
    symlinkSync('nowhere', join(folder, 'broken'));
  });

  const namesIn = async (...paths: string[]) =>
    (await findSourceFiles(paths)).files.map(({ name }) => name);

  it('are the files of a folder and its subfolders by name, including links to files', async () => {
    const names = ['1.json', '2.json', 'sap.json', 'sap/3.json', 'sap/odata/4.json'];
    const { files } = await findSourceFiles([folder]);
    expect(files).toEqual(names.map((name) => ({ name, path: join(folder, name) })));
  });

  it('are prefixed with the folder where several paths are given, in their order', async () => {
    const sap = join(folder, 'sap');
    expect(await namesIn(join(folder, '1.json'))).toEqual([join(folder, '1.json')]);
    expect(await namesIn(sap, join(folder, '1.json'))).toEqual(
      ['sap/3.json', 'sap/odata/4.json', '1.json'].map((name) => join(folder, name)),
    );
  });

  it('exclude hidden files, linked folders and broken links, which are reported', async () => {
    const { skipped } = await findSourceFiles([folder]);
    expect(skipped).toEqual([
      '..2025_11_21: hidden',
      '..data: hidden',
      '.DS_Store: hidden',
      'broken: a link to nothing',
      'sap/.hidden: hidden',
      'sap/up: a link to a folder',
    ]);
  });

  it('are too large from an endless device', async () => {
    const records = new FileRecords({}, new EnrichmentRules());
    expect(await records.readRecord('/dev/zero')).toMatchObject({
      rejection: { code: 'too-large' },
    });
  });

  it('are refused from a folder with too many', async () => {
    await expect(findSourceFiles([folder], 5)).rejects.toThrow(
      'holds more than 5 files and folders',
    );
  });
});
