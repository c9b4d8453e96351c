import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { respond, StubService } from '../../../../../libs/http-calls/test/stub-service.js';
import { MachineDirectory } from '../../machine-directory/index.js';
import { whenListed } from '../../machine-directory/testing/when-listed.js';
import { PlatformModule } from '../../platform/index.js';
import { bridgeSettings } from '../../platform/testing/bridge-settings.js';
import { WorkOrdersModule } from '../work-orders.module.js';
import { OrderRelay } from './order-relay.js';

const MILL = {
  ...{ machineDisplayName: 'Mill', machineUniqueId: 'M-1' },
  ...{ factoryId: 'F-1', factoryName: 'Plant' },
};

describe('machines that orders name and the service does not list', () => {
  let service: StubService;
  let bridge: INestApplicationContext;

  beforeEach(async () => {
    service = await StubService.start();
    service.answers(respond(200, [MILL]));
    const settings = bridgeSettings({ MACHINE_CLOUD_BASE_URL: service.baseUrl });
    @Module({ imports: [PlatformModule.with(settings), WorkOrdersModule] })
    class WorkOrdersAlone {}
    bridge = await NestFactory.createApplicationContext(WorkOrdersAlone, { logger: false });
    await whenListed(bridge.get(MachineDirectory));
  });

  afterEach(async () => {
    await bridge.close();
    await service.stop();
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
    expect(service.requests).toHaveLength(1);
    expect(await refused('M-1', 'X-1', 'X-2')).toEqual(['X-1', 'X-2']);
    expect(service.requests).toHaveLength(2);
  });

  it('are not looked up again for each message behind', async () => {
    for (let message = 0; message < 100; message += 1)
      expect(await refused('X-1')).toEqual(['X-1']);
    expect(service.requests).toHaveLength(2);
  });
});
