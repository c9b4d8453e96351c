import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { jest } from '@jest/globals';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { realDelayMs } from '#libs/clock';
import { MachineDirectoryModule } from '../../machine-directory/index.js';
import { PlatformModule } from '../../platform/index.js';
import { bridgeSettings } from '../../platform/testing/bridge-settings.js';
import { temporaryFile, temporaryFolder } from '../../../../../libs/config/test/temporary-files.js';
import {
  Equipment,
  EquipmentMapFile,
  type EquipmentMapRead,
  UnmappedWorkCentres,
} from './equipment.js';

const MILL = { plant: '1000', workCentre: 'FR01' };
const LATHE = { plant: '1000', workCentre: 'DR01' };

describe('Equipment', () => {
  const path = temporaryFile('map.json', '');
  let bridge: INestApplicationContext;
  let equipment: Equipment;
  let unmapped: UnmappedWorkCentres;

  const writeMap = (...entries: Record<string, string>[]): void => {
    writeFileSync(path, JSON.stringify(entries));
  };

  const untilMapped = async (place: typeof MILL, machineId: string | undefined): Promise<void> => {
    while (equipment.machineOf(place) !== machineId) await realDelayMs(20);
  };

  beforeEach(async () => {
    writeMap({ ...MILL, machineId: 'M-1' });
    const settings = bridgeSettings({ EQUIPMENT_MAP_FILE: path });
    @Module({
      imports: [PlatformModule.with(settings), MachineDirectoryModule],
      providers: [Equipment, UnmappedWorkCentres],
    })
    class EquipmentAlone {}
    const everyMs = globalThis.setInterval;
    jest
      .spyOn(globalThis, 'setInterval')
      .mockImplementation((task: () => void) => everyMs(task, 20));
    bridge = await NestFactory.createApplicationContext(EquipmentAlone, { logger: false });
    jest.restoreAllMocks();
    equipment = bridge.get(Equipment);
    unmapped = bridge.get(UnmappedWorkCentres);
  });

  afterEach(() => bridge.close());

  it('follows changes of the map', async () => {
    writeMap({ ...MILL, machineId: 'M-2' }, { ...LATHE, machineId: 'M-3' });
    await untilMapped(MILL, 'M-2');
    expect(equipment.machineOf(LATHE)).toBe('M-3');
  });

  it('keeps the last map while the file cannot be used, and says why', async () => {
    const said = new Promise((resolve) => {
      jest.spyOn(Logger.prototype, 'error').mockImplementation(resolve);
    });
    writeFileSync(path, 'no map at all');
    expect(await said).toMatchObject({ msg: expect.stringContaining('not read') as string });
    expect(equipment.machineOf(MILL)).toBe('M-1');
    writeMap({ ...MILL, machineId: 'M-4' });
    await untilMapped(MILL, 'M-4');
  });

  it('does not read again while a read hangs, and does once it ends', async () => {
    const answers: ((read: EquipmentMapRead | undefined) => void)[] = [];
    const looks = jest
      .spyOn(EquipmentMapFile.prototype, 'readIfChanged')
      .mockImplementation(() => new Promise((resolve) => answers.push(resolve)));
    equipment.beforeApplicationShutdown();
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    try {
      equipment.onApplicationBootstrap();
      jest.advanceTimersByTime(60_000);
      expect(looks).toHaveBeenCalledTimes(1);
      answers[0]?.(undefined);
      await new Promise((resolve) => setImmediate(resolve));
      jest.advanceTimersByTime(60_000);
      expect(looks).toHaveBeenCalledTimes(2);
    } finally {
      equipment.beforeApplicationShutdown();
      jest.useRealTimers();
    }
  });

  it('remembers unmapped work centres until they are mapped', async () => {
    for (let order = 1; order <= 7; order += 1) unmapped.addPlace(`47${order}`, LATHE);
    unmapped.addPlace('471', LATHE);
    unmapped.addPlace('1', { workCentre: 'ZZ' });
    expect(unmapped.listUnmapped()).toEqual([
      {
        ...LATHE,
        operations: 8,
        orderIds: ['474', '475', '476', '477', '471'],
        firstSeenAt: expect.any(Number) as number,
        lastSeenAt: expect.any(Number) as number,
      },
      expect.objectContaining({ plant: null, workCentre: 'ZZ', operations: 1 }),
    ]);
    writeMap({ ...LATHE, machineId: 'M-3' });
    await untilMapped(LATHE, 'M-3');
    expect(unmapped.listUnmapped().map(({ workCentre }) => workCentre)).toEqual(['ZZ']);
  });
});

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

  it('is read again after a failed read, although it has not changed since', async () => {
    failures = 1;
    await file.readIfChanged();
    expect(await file.readIfChanged()).toEqual({ kind: 'unreadable', why: 'EIO' });
    const read = await file.readIfChanged();
    expect(read?.kind === 'map' && read.map.machineOf(mill)).toBe('M-1');
  });

  it('is not read again while it is unchanged, whether valid or not', async () => {
    await file.readIfChanged();
    expect(await file.readIfChanged()).toMatchObject({ kind: 'map' });
    expect(await file.readIfChanged()).toBeUndefined();
    writeFileSync(path, 'no map at all');
    await file.readIfChanged();
    expect(await file.readIfChanged()).toMatchObject({ kind: 'unreadable' });
    expect(await file.readIfChanged()).toBeUndefined();
    expect(reads).toBe(2);
  });

  it('is the same map with a line feed at its end', async () => {
    const atStart = JSON.stringify([{ ...mill, machineId: 'M-1' }]);
    writeFileSync(path, `${atStart}\n`);
    const same = new EquipmentMapFile(path, atStart);
    await same.readIfChanged();
    expect(await same.readIfChanged()).toBeUndefined();
  });

  it('is read only after two equal checks in a row', async () => {
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

  it.each(['moved away and back', 'written again'])(
    'is reported each time it is gone and each time it is back, after it is %s',
    async (how) => {
      const content = JSON.stringify([{ ...mill, machineId: 'M-1' }]);
      await file.readIfChanged();
      expect(await file.readIfChanged()).toMatchObject({ kind: 'map' });
      for (const time of ['once', 'twice']) {
        renameSync(path, `${path}.away`);
        const gone = await file.readIfChanged();
        expect([time, gone]).toEqual([time, expect.objectContaining({ kind: 'unreadable' })]);
        if (how === 'written again') writeFileSync(path, content);
        else renameSync(`${path}.away`, path);
        await file.readIfChanged();
        expect([time, (await file.readIfChanged())?.kind]).toEqual([time, 'map']);
      }
    },
  );

  it('is parsed in a thread if it is YAML', async () => {
    const path = join(folder, 'map.yaml');
    const yaml = new EquipmentMapFile(path, '');
    const fromThread = jest.spyOn(Worker.prototype, 'emit');
    writeFileSync(path, '- { plant: 0001, workCentre: WC-1, machineId: M-1 }\n');
    await yaml.readIfChanged();
    const read = await yaml.readIfChanged();
    expect(read?.kind === 'map' && read.map.size).toBe(1);
    const content = [{ plant: '0001', workCentre: 'WC-1', machineId: 'M-1' }];
    expect(fromThread).toHaveBeenCalledWith('message', { content });
    writeFileSync(path, '- plant: a\n  plant: b\n');
    await yaml.readIfChanged();
    expect(await yaml.readIfChanged()).toEqual({
      kind: 'unreadable',
      why: expect.stringMatching(
        /^the equipment map is not valid yaml: .*unique at line 2, column 3$/,
      ) as string,
    });
  });

  it('is reported again when it is back and still invalid', async () => {
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

  it('is rejected if it is empty', async () => {
    writeFileSync(path, '[]');
    await file.readIfChanged();
    expect(await file.readIfChanged()).toMatchObject({
      kind: 'unreadable',
      why: expect.stringContaining('no entries') as string,
    });
  });
});
