import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../../../libs/config/test/temporary-files.js';
import { EquipmentMapFile } from './equipment-map-file.js';

describe('the file of the equipment map', () => {
  const folder = temporaryFolder();
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

  it('is no other map than at the start for a line feed at its end', async () => {
    const atStart = JSON.stringify([{ ...mill, machineId: 'M-1' }]);
    writeFileSync(path, `${atStart}\n`);
    const same = new EquipmentMapFile(path, atStart);
    await same.readIfChanged();
    expect(await same.readIfChanged()).toBeUndefined();
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

  it.each(['moved away and back', 'written anew'])(
    'is reported each time it is gone and each time it is back, where it is %s',
    async (how) => {
      const content = JSON.stringify([{ ...mill, machineId: 'M-1' }]);
      await file.readIfChanged();
      expect(await file.readIfChanged()).toMatchObject({ kind: 'map' });
      for (const time of ['once', 'twice']) {
        renameSync(path, `${path}.away`);
        const gone = await file.readIfChanged();
        expect([time, gone]).toEqual([time, expect.objectContaining({ kind: 'unreadable' })]);
        if (how === 'written anew') writeFileSync(path, content);
        else renameSync(`${path}.away`, path);
        await file.readIfChanged();
        expect([time, (await file.readIfChanged())?.kind]).toEqual([time, 'map']);
      }
    },
  );

  it('is parsed beside all else the process does where it is YAML', async () => {
    const large = join(folder, 'large.yaml');
    const lines = Array.from(
      { length: 5000 },
      (_, index) => `- { plant: 0001, workCentre: WC-${index}, machineId: M-${index} }\n`,
    );
    writeFileSync(large, lines.join(''));
    const yaml = new EquipmentMapFile(large, '');
    await yaml.readIfChanged();
    const beganMs = performance.now();
    let [lastMs, longestMs] = [beganMs, 0];
    const look = (): void => {
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      lastMs = performance.now();
    };
    const looking = setInterval(look, 1);
    const read = await yaml.readIfChanged();
    clearInterval(looking);
    look();
    expect(read?.kind === 'map' && read.map.size).toBe(5000);
    expect(longestMs).toBeLessThan((performance.now() - beganMs) / 2);
    writeFileSync(large, '- plant: a\n  plant: b\n');
    await yaml.readIfChanged();
    expect(await yaml.readIfChanged()).toEqual({
      kind: 'unreadable',
      why: expect.stringMatching(
        /^the equipment map is not valid yaml: .*unique at line 2, column 3$/,
      ) as string,
    });
  });

  it('is reported anew when it is back and still makes no sense', async () => {
    const reported: (string | undefined)[] = [];
    for (const content of ['no map', undefined, 'no map', undefined]) {
      if (content === undefined) rmSync(path);
      else writeFileSync(path, content);
      await file.readIfChanged().then((read) => reported.push(read?.kind));
      await file.readIfChanged().then((read) => reported.push(read?.kind));
    }
    const [no, yes] = [undefined, 'unreadable'];
    expect(reported).toEqual([no, yes, yes, no, no, yes, yes, no]);
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
