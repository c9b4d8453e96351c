import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { fixedToken, MachineCloudClient } from '#libs/cloud-client';
import { loadBridgeSettings } from '#libs/config';
import { STATE_EVENT_TYPES } from '#libs/contracts';
import { type SequencedEvent } from '../derivation/sequenced-event.js';
import { ActivityLogReader } from './activity-log-reader.js';
import { MachineWatch } from './machine-watch.js';
import { PollHealth } from './poll-health.js';
import { PollingMetrics } from './polling-metrics.js';
import { WatchContext } from './watch-context.js';

const T0 = 1_763_680_020;
const MACHINE = { machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };

interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

describe('MachineWatch', () => {
  let server: Server;
  let client: MachineCloudClient;
  let clock: ManualClock;
  let health: PollHealth;
  let watch: MachineWatch;
  let state: Answer;
  let activity: Answer;
  let published: SequencedEvent[];
  let commit: () => Promise<void>;

  const kinds = (): string[] =>
    published.map(({ event }) =>
      event.type === STATE_EVENT_TYPES.observationLost ? event.data.reason : event.type,
    );

  function operating(lastUpdateTime: number, durationInMinutes: number): Answer {
    return {
      status: 200,
      body: { machineState: 'OPERATING', durationInMinutes, astUpdateTime: lastUpdateTime },
    };
  }

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(async () => {
    state = operating(T0, 10);
    activity = { status: 204 };
    published = [];
    commit = () => Promise.resolve();
    server = createServer((request, response) => {
      const { status, body, headers } = request.method === 'POST' ? activity : state;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = loadBridgeSettings({
      KAFKA_BROKERS: 'localhost:9092',
      MACHINE_CLOUD_BASE_URL: baseUrl,
      MACHINE_CLOUD_TOKEN: 'a-token',
    });
    clock = new ManualClock((T0 + 60) * 1000);
    client = new MachineCloudClient({ baseUrl, token: fixedToken('a-token') });
    health = new PollHealth();
    const reader = new ActivityLogReader(client);
    const metrics = new PollingMetrics();
    const context = new WatchContext(settings, clock, client, reader, health, metrics);
    const publish = async ({ events }: { events: SequencedEvent[] }): Promise<void> => {
      await commit();
      published.push(...events);
    };
    watch = new MachineWatch(MACHINE, undefined, publish, context);
  });

  afterEach(async () => {
    watch.end();
    await client.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('publishes what the first poll shows', async () => {
    await watch.poll();
    expect(kinds()).toEqual([STATE_EVENT_TYPES.changed]);
    expect(watch.tracked?.periods.at(-1)).toMatchObject({ state: 'OPERATING', startTime: T0 - 600 });
  });

  it('reports data that is missing at once', async () => {
    await watch.poll();
    state = { status: 204 };
    await watch.poll();
    expect(kinds()).toEqual([STATE_EVENT_TYPES.changed, 'noData']);
  });

  it.each([
    [503, 'unreachable'],
    [404, 'unreachable'],
    [403, 'forbidden'],
  ])(
    'reports a machine as lost when %i has been the answer for too long',
    async (status, reason) => {
      await watch.poll();
      state = { status };
      clock.advance(300);
      await watch.poll();
      expect(kinds()).toEqual([STATE_EVENT_TYPES.changed]);
      clock.advance(1);
      await watch.poll();
      expect(kinds()).toEqual([STATE_EVENT_TYPES.changed, reason]);
      expect(health.failingMachines).toBe(1);
      state = operating(T0 + 300, 15);
      await watch.poll();
      expect(kinds()).toEqual([
        STATE_EVENT_TYPES.changed,
        reason,
        STATE_EVENT_TYPES.observationRestored,
      ]);
      expect(health.failingMachines).toBe(0);
    },
  );

  it('passes on how long the service asked to be left alone', async () => {
    state = { status: 429, headers: { 'retry-after': '7' } };
    expect(await watch.poll()).toBe(7000);
  });

  it('waits for a log that fails, but not for ever', async () => {
    activity = { status: 503 };
    await watch.poll();
    expect(kinds()).toEqual([]);
    clock.advance(301);
    state = operating(T0 + 300, 15);
    await watch.poll();
    expect(kinds()).toEqual([STATE_EVENT_TYPES.changed]);
  });

  it('does without a log that the token may not read', async () => {
    activity = { status: 403 };
    await watch.poll();
    expect(published[0]?.event.data).toMatchObject({ startTimeSource: 'duration' });
  });

  it('forgets what was not committed', async () => {
    commit = () => Promise.reject(new Error('fenced'));
    await expect(watch.poll()).rejects.toThrow('fenced');
    expect(watch.tracked).toBeUndefined();
    commit = () => Promise.resolve();
    await watch.poll();
    expect(published.map(({ sequence }) => sequence)).toEqual([1]);
  });

  it('reports a machine that has left as removed, and ends', async () => {
    await watch.poll();
    watch.leave();
    await watch.poll();
    expect(kinds()).toEqual([STATE_EVENT_TYPES.changed, 'removed']);
    expect(watch.signal.aborted).toBe(true);
  });

  it('goes on with a machine that is listed again in time', async () => {
    watch.leave();
    watch.describe({ ...MACHINE, displayName: 'Big mill' });
    await watch.poll();
    expect(kinds()).toEqual([STATE_EVENT_TYPES.changed]);
    expect(watch.tracked?.displayName).toBe('Big mill');
  });

  it('ends quietly in the middle of a poll', async () => {
    const poll = watch.poll();
    watch.end();
    expect(await poll).toBe(0);
    expect(published).toEqual([]);
  });
});
