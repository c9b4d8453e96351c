import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Clock, realEpochMs } from '#libs/clock';
import { fixedToken, MachineCloudClient } from '#libs/cloud-client';
import { loadBridgeSettings } from '#libs/config';
import { STATE_EVENT_TYPES } from '#libs/contracts';
import type { TrackedMachine } from '../derivation/tracked-machine.js';
import { unpausedFlows } from '../../flow-control/testing/unpaused-flows.js';
import { ActivityLogReader } from './activity-log-reader.js';
import { MachineWatch, type StoredMachines } from './machine-watch.js';
import { PollHealth } from './poll-health.js';
import { PollLoop } from './poll-loop.js';
import { PollingMetrics } from './polling-metrics.js';
import { WatchContext } from './watch-context.js';

const MINUTE = 60;
const CLOCK_SPEED = 15;
/** A quarter of the default, as the fleets are: how far a machine's turn comes late is by the one to the other. */
const CALLS_AT_ONCE = 16;
/** As long in a minute of the plant as ten seconds are in a real one. */
const TIMEOUT_MS = 10_000 / CLOCK_SPEED;

type CallQuality = 'answers' | 'fails' | 'hangs';

/** Of one machine: when the last was, the longest time between two, both in seconds of the clock, and how many. */
interface Polls {
  last: number;
  longest: number;
  count: number;
}

/** A service, as HTTP, with factories of which each may conduct itself otherwise. */
class FactoriesService {
  readonly conduct = new Map<string, CallQuality>();
  private readonly polls = new Map<string, Polls>();
  private readonly server: Server;

  constructor(private readonly clock: Clock) {
    this.server = createServer((request, response) => {
      const machineId = new URL(request.url ?? '', 'http://service').searchParams.get('machineId');
      if (request.method === 'POST') response.writeHead(204).end();
      else this.answer(machineId ?? '', response);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Of each machine of a factory, since {@link forget}. */
  pollsOf(factoryId: string): Polls[] {
    const ofFactory = [...this.polls].filter(([machineId]) => factoryOf(machineId) === factoryId);
    return ofFactory.map(([, polls]) => polls);
  }

  forget(): void {
    for (const poll of this.polls.values()) Object.assign(poll, { longest: 0, count: 0 });
  }

  private answer(machineId: string, response: ServerResponse): void {
    const now = this.clock.nowMs() / 1000;
    const { last, longest, count } = this.polls.get(machineId) ?? {
      last: now,
      longest: 0,
      count: 0,
    };
    const polls = { last: now, longest: Math.max(longest, now - last), count: count + 1 };
    this.polls.set(machineId, polls);
    const conduct = this.conduct.get(factoryOf(machineId)) ?? 'answers';
    if (conduct === 'hangs') return;
    if (conduct === 'fails') response.writeHead(503).end();
    else {
      // everybody's at the same moment, which is the least that polls can be spread by
      const astUpdateTime = Math.floor(now / MINUTE) * MINUTE;
      const state = { machineState: 'OPERATING', durationInMinutes: 500, astUpdateTime };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(state));
    }
  }
}

const factoryOf = (machineId: string): string => machineId.split('-')[0] ?? '';

describe('a fleet of which a part fails', () => {
  let clock: Clock;
  let service: FactoriesService;
  let client: MachineCloudClient;
  let loop: PollLoop;
  let watches: MachineWatch[];
  let lost: string[];
  let restored: string[];
  let partition: AbortController;

  async function watchFleet(factories: Readonly<Record<string, number>>): Promise<void> {
    const baseUrl = await service.listen();
    const settings = loadBridgeSettings({
      KAFKA_BROKERS: 'localhost:9092',
      MACHINE_CLOUD_BASE_URL: baseUrl,
      MACHINE_CLOUD_TOKEN: 'a-token',
      MACHINE_CLOUD_MAX_CONCURRENCY: String(CALLS_AT_ONCE),
    });
    client = new MachineCloudClient({
      baseUrl,
      token: fixedToken('a-token'),
      timeoutMs: TIMEOUT_MS,
    });
    const health = new PollHealth(clock);
    const metrics = new PollingMetrics();
    const reader = new ActivityLogReader(client, settings, clock);
    const context = new WatchContext(settings, clock, client, reader, health, metrics, {
      forget: () => undefined,
    });
    const remembered = new Map<string, TrackedMachine>();
    const stored: StoredMachines = {
      get: (machineId) => remembered.get(machineId),
      publish: ({ events, next }) => {
        remembered.set(next.machineId, next);
        for (const { event } of events) {
          const { machineId } = event.data;
          if (event.type === STATE_EVENT_TYPES.observationLost) lost.push(machineId);
          if (event.type === STATE_EVENT_TYPES.observationRestored) restored.push(machineId);
        }
        return Promise.resolve();
      },
    };
    watches = Object.entries(factories).flatMap(([factoryId, machines]) =>
      Array.from({ length: machines }, (_, index) => {
        const machineId = `${factoryId}-${index}`;
        const info = { machineId, displayName: machineId, factoryId, factoryName: factoryId };
        return new MachineWatch(info, stored, context, partition.signal);
      }),
    );
    loop = new PollLoop(settings, clock, health, metrics, unpausedFlows());
    loop.addAll(watches);
    loop.onApplicationBootstrap();
    while (watches.some(({ observation }) => observation === undefined)) {
      await clock.sleepSeconds(5);
    }
  }

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    clock = new Clock({ speed: CLOCK_SPEED, originSeconds: realEpochMs() / 1000 });
    service = new FactoriesService(clock);
    lost = [];
    restored = [];
    partition = new AbortController();
  });

  afterEach(async () => {
    loop.beforeApplicationShutdown();
    partition.abort(new Error('the test is over'));
    await service.close();
    await client.close();
  });

  it('keeps every healthy machine in sight while one factory of five answers 503 for eight minutes', async () => {
    await watchFleet({ A: 150, B: 150, C: 150, D: 150, E: 150 });
    service.conduct.set('B', 'fails');
    await clock.sleepSeconds(8 * MINUTE);
    while (new Set(lost).size < 150) await clock.sleepSeconds(5);
    service.conduct.clear();
    expect([...new Set(lost.map(factoryOf))]).toEqual(['B']);
    while (restored.length < 150) await clock.sleepSeconds(5);
    expect(lost).toHaveLength(150);
  });

  it('polls healthy machines once a minute while nearly twice as many others hang', async () => {
    await watchFleet({ A: 150, H: 250 });
    service.conduct.set('H', 'hangs');
    // Until each has been found out about, which takes as long as 16 at a time take to time out.
    await clock.sleepSeconds(4 * MINUTE);
    service.forget();
    await clock.sleepSeconds(4 * MINUTE);
    const healthy = service.pollsOf('A').map(({ longest }) => longest);
    expect(healthy).toHaveLength(150);
    // 60 to 70 on an idle computer; turns that are passed on to hanging machines would make it 500.
    expect(Math.max(...healthy)).toBeLessThan(2 * MINUTE);
    const perHanging = service.pollsOf('H').reduce((sum, { count }) => sum + count, 0) / 250;
    expect(perHanging).toBeLessThan(1);
    expect(lost.filter((machineId) => factoryOf(machineId) === 'A')).toEqual([]);
  });

  it('goes on being polled when the wall clock is set back an hour', async () => {
    await watchFleet({ A: 50 });
    const real = Date.now.bind(Date);
    const setBack = jest.spyOn(Date, 'now').mockImplementation(() => real() - 3_600_000);
    service.forget();
    while (service.pollsOf('A').some(({ count }) => count < 3)) await clock.sleepSeconds(5);
    setBack.mockRestore();
    expect(lost).toEqual([]);
  });
});
