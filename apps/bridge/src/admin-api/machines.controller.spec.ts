import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { realDelayMs } from '#libs/clock';
import type { MachineStateRecord } from '#libs/contracts';
import { CommandOutcomes } from '../delivery/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import type { MachineStates } from '../machine-states/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import type { WorkOrderLists } from '../work-orders/index.js';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { MachinesController } from './machines.controller.js';

const MACHINES = 100_000;
/** Buffers of sockets and streams at both ends take a few megabytes; the whole list, ten. */
const MOST_IN_BUFFERS = MACHINES * 0.75;

const settings = bridgeSettings();

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

  it('waits for a slow reader, and ends when the reader disconnects', async () => {
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

it('lists the watched machines while the directory lists none, for example because it cannot be read', async () => {
  const listed = new Map<string, unknown>();
  const controller = new MachinesController(
    { machines: () => listed } as unknown as MachineDirectory,
    {} as CommandOutcomes,
    { watchedMachines: [machine(1)], recordOf: () => undefined } as unknown as MachineStates,
  );
  const list = async (): Promise<unknown> => json(controller.listMachines().getStream());
  expect(await list()).toEqual([{ ...machine(1), state: null }]);
  listed.set('M-2', machine(2));
  expect(await list()).toEqual([{ ...machine(2), state: null }]);
});

describe('the details of an unlisted machine, as with a token that may not read machines', () => {
  const list = { workingOrders: ['4711'], appliedAt: 100 };
  const state = { machineId: 'M-1', factoryId: 'F-1', displayName: 'Press' } as MachineStateRecord;
  const unnamed = { machineId: 'M-1', displayName: 'M-1', factoryId: '', factoryName: '' };

  interface Known {
    list?: typeof list;
    state?: MachineStateRecord;
    watched?: ReturnType<typeof machine>;
  }

  const detailsOf = (known: Known): unknown =>
    new MachinesController(
      { machines: () => new Map() } as unknown as MachineDirectory,
      { recentOutcomes: { outcomesOfMachine: () => [] } } as unknown as CommandOutcomes,
      {
        recordOf: () => known.state ?? null,
        watchedMachine: () => known.watched,
      } as unknown as MachineStates,
      { lastApplied: () => known.list } as unknown as WorkOrderLists,
    ).machineDetails('M-1');

  it('have its list, and the name of its state', () => {
    expect(detailsOf({ list })).toEqual({
      ...{ ...unnamed, state: null, workOrderList: list, lastOutcomes: [] },
    });
    expect(detailsOf({ state })).toMatchObject({ displayName: 'Press', factoryId: 'F-1', state });
    expect(() => detailsOf({})).toThrow('nothing is known');
  });

  it('have its names while it is watched and has no event yet', () => {
    expect(detailsOf({ watched: machine(1) })).toMatchObject({ ...machine(1), state: null });
  });
});
