import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { realDelayMs } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import { type MachineStateRecord, OUTCOME_TYPES } from '#libs/contracts';
import { CommandOutcomes, type RecentOutcome } from '../delivery/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { type KnownOfMachine, machineDetails, MachinesController } from './machines.controller.js';

const MACHINES = 100_000;
/** What sockets and streams hold at both ends comes to a few megabytes, the whole list to ten. */
const MOST_IN_BUFFERS = MACHINES * 0.75;

const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
});

const machine = (number: number) => ({
  machineId: `M-${number}`,
  displayName: `Milling centre ${number}`,
  factoryId: 'F-1',
  factoryName: 'Factory North',
});

describe('the list of machines', () => {
  let app: NestFastifyApplication;
  let url: string;
  let machines: number;
  let taken: number;
  let hasEnded: boolean;

  function* directory() {
    try {
      for (; taken < machines; taken += 1) yield machine(taken);
    } finally {
      hasEnded = true;
    }
  }

  @Module({
    controllers: [MachinesController],
    providers: [
      { provide: BRIDGE_SETTINGS, useValue: settings },
      { provide: CommandOutcomes, useValue: {} },
      { provide: MachineDirectory, useValue: { machines: () => ({ values: directory }) } },
    ],
  })
  class MachinesAlone {}

  beforeAll(async () => {
    const adapter = new FastifyAdapter({ forceCloseConnections: true });
    app = await NestFactory.create<NestFastifyApplication>(MachinesAlone, adapter, {
      logger: false,
    });
    await app.listen(0, '127.0.0.1');
    url = `${await app.getUrl()}/api/machines`;
  });

  beforeEach(() => {
    [machines, taken, hasEnded] = [MACHINES, 0, false];
  });

  afterAll(() => app.close());

  it.each([0, 1, 2, 5000])('is JSON, of %d machines', async (count) => {
    machines = count;
    const response = await fetch(url);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    const expected = Array.from({ length: count }, (_, number) => ({
      ...machine(number),
      state: null,
    }));
    expect(await response.json()).toEqual(expected);
  });

  it('waits for whoever reads it slowly, and ends when they go away', async () => {
    const request = get(url);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    for (let before = -1; taken !== before;) {
      before = taken;
      await realDelayMs(50);
    }
    expect(taken).toBeLessThan(MOST_IN_BUFFERS);
    expect(hasEnded).toBe(false);
    response.destroy();
    while (!hasEnded) await realDelayMs(10);
    expect(taken).toBeLessThan(MACHINES);
  });
});

const NOTHING: KnownOfMachine = { state: undefined, list: undefined, outcomes: [] };
const list = { workingOrders: ['4711'], appliedAt: 100 };
const outcome: RecentOutcome = {
  type: OUTCOME_TYPES.workOrderListApplied,
  ...{ machineId: 'M-1', orderId: '4711', code: null, detail: null, attempts: 1, appliedAt: 100 },
  source: { topic: 'lists', partition: 0, offset: 7, messageId: null, sender: 'erp' },
};
const state: MachineStateRecord = {
  ...{ machineId: 'M-1', factoryId: 'F-1', displayName: 'Press', state: null, startTime: null },
  ...{ observation: 'ok', lastUpdateTime: null, sequence: 0, settledUntil: null },
};

describe('the details of a machine that the service does not list', () => {
  it('are none when nothing else is known of it', () => {
    expect(machineDetails('M-1', undefined, NOTHING)).toBeUndefined();
  });

  it('have its list and its outcomes all the same, as where the token may not read machines', () => {
    const unnamed = { machineId: 'M-1', displayName: 'M-1', factoryId: '', factoryName: '' };
    expect(machineDetails('M-1', undefined, { ...NOTHING, list })).toEqual({
      ...{ ...unnamed, state: null, workOrderList: list, lastOutcomes: [] },
    });
    expect(machineDetails('M-1', undefined, { ...NOTHING, outcomes: [outcome] })).toEqual({
      ...{ ...unnamed, state: null, workOrderList: null, lastOutcomes: [outcome] },
    });
  });

  it('name it as its state does', () => {
    expect(machineDetails('M-1', undefined, { ...NOTHING, state })).toMatchObject({
      ...{ machineId: 'M-1', displayName: 'Press', factoryId: 'F-1', state },
    });
  });
});
