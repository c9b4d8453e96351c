import { jest } from '@jest/globals';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadBridgeSettings } from '#libs/config';
import { PlatformModule } from '../../platform/index.js';
import { MachineStatesModule } from '../machine-states.module.js';
import { OwnedMachines } from './owned-machines.js';

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
      put: () => {
        throw new Error('written by a transaction of its own');
      },
      commit: () => Promise.resolve(),
    });
    expect(await logged).toEqual({ msg: 'not watched', partition: 0, err: failure });
  });
});
