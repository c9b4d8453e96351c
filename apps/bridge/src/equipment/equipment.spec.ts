import { writeFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { realDelayMs } from '#libs/clock';
import { PlatformModule } from '../platform/index.js';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { temporaryFile } from '../../../../libs/config/test/temporary-files.js';
import { EquipmentMapFile, type EquipmentMapRead } from './equipment-map-file.js';
import { EquipmentModule } from './equipment.module.js';
import { Equipment } from './equipment.js';
import { UnmappedWorkCentres } from './unmapped-work-centres.js';

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
    @Module({ imports: [PlatformModule.with(settings), EquipmentModule] })
    class EquipmentAlone {}
    // looks at the file that often
    const everyMs = globalThis.setInterval;
    jest
      .spyOn(globalThis, 'setInterval')
      .mockImplementation((task: () => void) => everyMs(task, 20));
    bridge = await NestFactory.createApplicationContext(EquipmentAlone, { logger: false });
    jest.restoreAllMocks();
    equipment = bridge.get(Equipment);
    unmapped = bridge.get(UnmappedWorkCentres);
  });

  afterEach(async () => {
    await bridge.close();
    jest.restoreAllMocks();
  });

  it('follows the map as it changes', async () => {
    jest.spyOn(Logger.prototype, 'log').mockReturnValue();
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
    jest.spyOn(Logger.prototype, 'log').mockReturnValue();
    writeMap({ ...MILL, machineId: 'M-4' });
    await untilMapped(MILL, 'M-4');
  });

  it('does not look again while the file hangs, and does once it answers', async () => {
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

  it('remembers where orders wanted to go, until it is mapped', async () => {
    jest.spyOn(Logger.prototype, 'log').mockReturnValue();
    for (let order = 1; order <= 7; order += 1) unmapped.note(`47${order}`, LATHE);
    unmapped.note('471', LATHE);
    unmapped.note('1', { workCentre: 'ZZ' });
    expect(unmapped.list()).toEqual([
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
    expect(unmapped.list().map(({ workCentre }) => workCentre)).toEqual(['ZZ']);
  });
});
