import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadBridgeSettings } from '#libs/config';
import { MachineDirectory } from '../../machine-directory/index.js';
import { whenListed } from '../../machine-directory/testing/when-listed.js';
import { PlatformModule } from '../../platform/index.js';
import { WorkOrdersModule } from '../work-orders.module.js';
import { OrderRelay } from './order-relay.js';

const MILL = {
  ...{ machineDisplayName: 'Mill', machineUniqueId: 'M-1' },
  ...{ factoryId: 'F-1', factoryName: 'Plant' },
};

describe('machines that orders name and the service does not list', () => {
  let service: Server;
  let lookUps: number;
  let bridge: INestApplicationContext;

  beforeEach(async () => {
    lookUps = 0;
    service = createServer((_, response) => {
      lookUps += 1;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify([MILL]));
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;
    const settings = loadBridgeSettings({
      KAFKA_BROKERS: 'localhost:1',
      MACHINE_CLOUD_BASE_URL: `http://127.0.0.1:${port}`,
      MACHINE_CLOUD_TOKEN: 'a-token',
    });
    @Module({ imports: [PlatformModule.with(settings), WorkOrdersModule] })
    class WorkOrdersAlone {}
    bridge = await NestFactory.createApplicationContext(WorkOrdersAlone, { logger: false });
    await whenListed(bridge.get(MachineDirectory));
  });

  afterEach(async () => {
    await bridge.close();
    service.close();
  });

  const refused = async (...machineIds: string[]): Promise<string[]> => {
    const { signal } = new AbortController();
    const operations = machineIds.map((machineId) => ({ operationId: '0010', machineId }));
    const order = { orderId: '4711', changedAt: 1, operations };
    const refusals = await bridge
      .get(OrderRelay)
      .refuseUnlisted([{ kind: 'change', order }], signal);
    return [...refusals.keys()];
  };

  it('are looked up together, also when a look-up has only just been made', async () => {
    expect(lookUps).toBe(1);
    expect(await refused('M-1', 'X-1', 'X-2')).toEqual(['X-1', 'X-2']);
    expect(lookUps).toBe(2);
  });

  it('are not looked up again for each message behind', async () => {
    for (let message = 0; message < 100; message += 1)
      expect(await refused('X-1')).toEqual(['X-1']);
    expect(lookUps).toBe(2);
  });
});
