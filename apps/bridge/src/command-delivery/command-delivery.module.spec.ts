import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadBridgeSettings } from '#libs/config';
import { ConcurrencyLimit } from '#libs/delivery';
import { DowntimeReasons, DowntimeReasonsModule } from '../downtime-reasons/index.js';
import { PlatformModule } from '../platform/index.js';
import { WorkOrdersModule } from '../work-orders/index.js';
import { type Command } from './command-flow.js';

const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
  MACHINE_CLOUD_MAX_CONCURRENCY: '1',
});

@Module({ imports: [PlatformModule.with(settings), WorkOrdersModule, DowntimeReasonsModule] })
class BothFlows {}

describe('CommandDeliveryModule', () => {
  let bridge: INestApplicationContext;

  beforeAll(async () => {
    bridge = await NestFactory.createApplicationContext(BothFlows, { logger: false });
  });

  afterAll(() => bridge.close());

  it('lets both flows together make as many calls at once as the service is to bear', async () => {
    const log: string[] = [];
    let free: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    const command = (call: () => void): Command => ({
      machineId: 'M-1',
      signal: new AbortController().signal,
      progress: { calls: 0 },
      refuse: () => Promise.resolve(undefined),
      call: () => {
        call();
        return Promise.resolve({ kind: 'data' });
      },
    });
    const { flow } = bridge.get(DowntimeReasons);
    const list = bridge.get(ConcurrencyLimit).run(() => held);
    const reason = flow.callUntilFinal(command(() => log.push('reason')));
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual([]);
    free();
    await Promise.all([list, reason]);
    expect(log).toEqual(['reason']);
  });
});
