import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EquipmentMapFile } from './equipment-map-file.js';

describe('the file of the equipment map', () => {
  const folder = mkdtempSync(join(tmpdir(), 'equipment-map-'));
  const path = join(folder, 'map.json');
  const mill = { plant: '1000', workCentre: 'FR01' };
  let failures: number;
  let reads: number;
  let file: EquipmentMapFile;

  beforeEach(() => {
    [failures, reads] = [0, 0];
    file = new EquipmentMapFile(path, 'as it was at start', (where) => {
      reads += 1;
      failures -= 1;
      return failures < 0 ? readFile(where, 'utf8') : Promise.reject(new Error('EIO'));
    });
    writeFileSync(path, JSON.stringify([{ ...mill, machineId: 'M-1' }]));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it('is read again after a read that failed, though it has not changed since', async () => {
    failures = 1;
    await file.readIfChanged();
    expect(await file.readIfChanged()).toEqual({ kind: 'unreadable', why: 'EIO' });
    const read = await file.readIfChanged();
    expect(read?.kind === 'map' && read.map.machineOf(mill)).toBe('M-1');
  });

  it('is not read again while it stays as it is, whether it makes sense or not', async () => {
    await file.readIfChanged();
    expect(await file.readIfChanged()).toMatchObject({ kind: 'map' });
    expect(await file.readIfChanged()).toBeUndefined();
    writeFileSync(path, 'no map at all');
    await file.readIfChanged();
    expect(await file.readIfChanged()).toMatchObject({ kind: 'unreadable' });
    expect(await file.readIfChanged()).toBeUndefined();
    expect(reads).toBe(2);
  });

  it('is read only once two looks in a row have found it the same', async () => {
    const parts = ['[', JSON.stringify({ ...mill, machineId: 'M-2' }), ']'];
    writeFileSync(path, '');
    for (const part of parts) {
      expect(await file.readIfChanged()).toBeUndefined();
      appendFileSync(path, part);
    }
    expect(await file.readIfChanged()).toBeUndefined();
    expect(reads).toBe(0);
    const read = await file.readIfChanged();
    expect(read?.kind === 'map' && read.map.machineOf(mill)).toBe('M-2');
  });

  it('is not taken when there is nothing in it', async () => {
    writeFileSync(path, '[]');
    await file.readIfChanged();
    expect(await file.readIfChanged()).toMatchObject({
      kind: 'unreadable',
      why: expect.stringContaining('no entries') as string,
    });
  });
});
