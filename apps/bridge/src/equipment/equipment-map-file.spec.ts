import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
    expect(await file.readIfChanged()).toEqual({ kind: 'unreadable', why: 'EIO' });
    const read = await file.readIfChanged();
    expect(read?.kind === 'map' && read.map.machineOf(mill)).toBe('M-1');
  });

  it('is not read again while it stays as it is, whether it makes sense or not', async () => {
    await file.readIfChanged();
    expect(await file.readIfChanged()).toBeUndefined();
    writeFileSync(path, 'no map at all');
    expect(await file.readIfChanged()).toMatchObject({ kind: 'unreadable' });
    expect(await file.readIfChanged()).toBeUndefined();
    expect(reads).toBe(2);
  });
});
