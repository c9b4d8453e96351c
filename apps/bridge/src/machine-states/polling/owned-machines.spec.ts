import { jest } from '@jest/globals';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MachineInfo } from '#libs/cloud-client';
import { loadBridgeSettings } from '#libs/config';
import { partitionOf } from '#libs/kafka';
import { PlatformModule } from '../../platform/index.js';
import { MachineStatesModule } from '../machine-states.module.js';
import { OwnedMachines, PartitionShares } from './owned-machines.js';

const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
});

@Module({ imports: [PlatformModule.with(settings), MachineStatesModule] })
class MachineStatesAlone {}

describe('OwnedMachines', () => {
  let bridge: INestApplicationContext;

  beforeAll(async () => {
    bridge = await NestFactory.createApplicationContext(MachineStatesAlone, { logger: false });
  });

  afterAll(async () => {
    jest.restoreAllMocks();
    await bridge.close();
  });

  it('logs with its stack what keeps it from watching a partition', async () => {
    const failure = new Error('a defect');
    const logged = new Promise((resolve) => {
      jest.spyOn(Logger.prototype, 'error').mockImplementation(resolve);
    });
    bridge.get(OwnedMachines).own({
      partition: 0,
      partitions: 1,
      signal: new AbortController().signal,
      lost: new AbortController().signal,
      get: () => undefined,
      keys: () => new Map<string, never>().keys(),
      entries: () => {
        throw failure;
      },
      commit: () => Promise.resolve(),
    });
    expect(await logged).toEqual({ msg: 'not watched', partition: 0, err: failure });
  });
});

const listOf = (count: number): Map<string, MachineInfo> =>
  new Map(
    Array.from({ length: count }, (_, index) => {
      const machineId = `M-${index}`;
      return [machineId, { machineId, displayName: '', factoryId: '', factoryName: '' }];
    }),
  );

describe('PartitionShares', () => {
  it('gives each machine to the partition of its key', () => {
    const shares = new PartitionShares().of(listOf(300), 7);
    expect(shares.flat()).toHaveLength(300);
    for (const [partition, share] of shares.entries()) {
      for (const { machineId } of share) expect(partitionOf(machineId, 7)).toBe(partition);
    }
  });

  it('shares a list out once, however many partitions ask', () => {
    const shares = new PartitionShares();
    const listed = listOf(10);
    const first = shares.of(listed, 50);
    expect(shares.of(listed, 50)).toBe(first);
  });

  it('shares out anew a list that is another, and for another number of partitions', () => {
    const shares = new PartitionShares();
    const listed = listOf(10);
    const first = shares.of(listed, 3);
    expect(shares.of(new Map(listed), 3)).not.toBe(first);
    expect(shares.of(listed, 4)).toHaveLength(4);
  });
});
