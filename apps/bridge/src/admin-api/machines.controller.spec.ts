import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { realDelayMs } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import { CommandOutcomes } from '../delivery/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { MachinesController } from './machines.controller.js';

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
