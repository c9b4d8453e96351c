import { jest } from '@jest/globals';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MachineCloudClient } from '#libs/cloud-client';
import { CallSlots } from '#libs/delivery';
import { DowntimeReasons, DowntimeReasonsModule } from '../downtime-reasons/index.js';
import { FlowControls } from '../flow-control/index.js';
import { MachineDirectory, ReasonLists } from '../machine-directory/index.js';
import { PlatformModule } from '../platform/index.js';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { WorkOrderLists, WorkOrdersModule } from '../work-orders/index.js';
import { MessageResults } from './command.js';
import { inboundMessage, targetOf } from './testing/inbound-message.js';

const settings = bridgeSettings({
  MACHINE_CLOUD_MAX_CONCURRENCY: '1',
  WORK_ORDER_LIST_LINGER_MS: '0',
});

@Module({ imports: [PlatformModule.with(settings), WorkOrdersModule, DowntimeReasonsModule] })
class BothFlows {}

/** The results of a message with one command, and a promise of its end. */
function resultsOfOne(): { results: MessageResults; finished: Promise<void> } {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const results = new MessageResults(targetOf(inboundMessage({ finish })), 1, () => []);
  return { results, finished };
}

describe('DeliveryModule', () => {
  let bridge: INestApplicationContext;
  let log: string[];

  beforeAll(async () => {
    bridge = await NestFactory.createApplicationContext(BothFlows, { logger: false });
  });

  beforeEach(() => {
    log = [];
    const directory = bridge.get(MachineDirectory);
    jest.spyOn(directory, 'hasMachine').mockReturnValue(true);
    jest.spyOn(bridge.get(ReasonLists), 'hasReason').mockReturnValue(true);
    const cloud = bridge.get(MachineCloudClient);
    const called = (what: string) => () => {
      log.push(what);
      return Promise.resolve({ kind: 'noData' as const });
    };
    jest.spyOn(cloud, 'setMachineClassification').mockImplementation(called('reason'));
    jest.spyOn(cloud, 'setWorkOrderList').mockImplementation(called('list'));
  });

  afterAll(() => bridge.close());

  const submitBoth = (list: MessageResults, reason: MessageResults): void => {
    const order = { machineId: 'M-1', workingOrders: [] };
    bridge.get(WorkOrderLists).flow.submitCommand('M-1', order, list);
    const startTime = 1_763_680_000;
    const stop = { machineId: 'M-1', reasonId: '22', startTime };
    bridge.get(DowntimeReasons).flow.submitCommand('M-1', stop, reason);
  };

  it('makes no call before the controls are read', async () => {
    const controls = bridge.get(FlowControls);
    expect(controls.problem).toBe('calls wait until it is read which flows are paused by hand');
    const [list, reason] = [resultsOfOne(), resultsOfOne()];
    submitBoth(list.results, reason.results);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(log).toEqual([]);
    expect(bridge.get(WorkOrderLists).flow.waiting).toBe(1);
    expect(bridge.get(DowntimeReasons).flow.waiting).toBe(1);
    controls.markAsRead();
    await Promise.all([list.finished, reason.finished]);
    expect(log.toSorted()).toEqual(['list', 'reason']);
    expect(controls.problem).toBeUndefined();
  });

  it('limits the concurrent calls of both flows together', async () => {
    const slots = bridge.get(CallSlots);
    let free: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    const polling = slots.runTask(() => held);
    const [list, reason] = [resultsOfOne(), resultsOfOne()];
    submitBoth(list.results, reason.results);
    expect(log).toEqual([]);
    expect(slots.underWay).toBe(1);
    free();
    await Promise.all([polling, list.finished, reason.finished]);
    expect(log.toSorted()).toEqual(['list', 'reason']);
  });
});
