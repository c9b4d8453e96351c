import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import type { AppProcess } from '../support/app-process.js';
import { eventually } from '../support/eventually.js';
import { testBrokers } from '../support/kafka.js';
import { StatesPlant } from '../support/states/states-plant.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** A minute of the plant takes a second of the test, as does the polling interval. */
const CLOCK_SPEED = 60;
/** On a busy machine one poll may take half of it. */
const STALE_AFTER_SECONDS = 15 * MINUTE;
const MACHINES = ['replica', 'log', 'other'];

describe('a bridge whose service answers oddly for a while', () => {
  let plant: StatesPlant;
  let bridge: AppProcess;
  let topics: TopicReader;
  let observedFrom: number;

  beforeAll(async () => {
    plant = await StatesPlant.open({
      brokers: testBrokers(),
      machines: 1,
      clockSpeed: CLOCK_SPEED,
      partitions: 1,
      env: { STALE_AFTER_SECONDS: String(STALE_AFTER_SECONDS) },
    });
    const startTime = Math.floor(plant.clock.nowSeconds() / MINUTE) * MINUTE - 12 * HOUR;
    const periods = [{ startTime, state: 'OPERATING' }];
    await plant.sandbox.playTimeline({
      machines: MACHINES.map((machineId) => ({ machineId, factoryId: 'F-1', periods })),
    });
    bridge = plant.startBridge();
    await bridge.ready();
    topics = await plant.kafka.read(TOPICS.stateChanges, TOPICS.states);
    await eventually('all machines are observed', () =>
      MACHINES.every((machineId) => statesOf(machineId).length > 0),
    );
    observedFrom = plant.clock.nowSeconds();
  });

  afterEach(() => plant.sandbox.clearFaults());
  afterAll(() => plant.close());

  const eventsOf = (machineId: string): Record<string, unknown>[] =>
    topics.records
      .filter(({ topic, key }) => topic === TOPICS.stateChanges && String(key) === machineId)
      .map((record) => ({ type: header(record, 'ce_type'), ...json(record) }));

  const statesOf = (machineId: string): unknown[] =>
    eventsOf(machineId).flatMap(({ state }) => state ?? []);

  const lossesOf = (machineId: string): unknown[] =>
    eventsOf(machineId).flatMap(({ type, reason }) =>
      type === STATE_EVENT_TYPES.observationLost ? reason : [],
    );

  /** Waits until the published states reflect the answers to that poll and to all before it. */
  const untilPolled = async (machineId: string, times: number): Promise<void> => {
    const since = await plant.sandbox.newestCall();
    await eventually(
      `${times} polls of ${machineId}`,
      async () =>
        (await plant.sandbox.allCalls(since)).filter(
          ({ operation, machineIds }) =>
            operation === 'getMachineState' && machineIds[0] === machineId,
        ).length > times,
    );
  };

  const settledUntil = (machineId: string): number => {
    const latest = topics.records.findLast(
      ({ topic, key }) => topic === TOPICS.states && String(key) === machineId,
    );
    return Number(latest && json(latest)['settledUntil']);
  };

  const logsBehind = async (): Promise<number> => {
    const metrics = await (await fetch(`${await bridge.url()}/metrics`)).text();
    return Number(/^machine_bridge_activity_logs_behind (.+)$/m.exec(metrics)?.[1]);
  };

  it('publishes nothing from older answers of a lagging replica', async () => {
    await plant.sandbox.forceState('replica', 'IDLE');
    await eventually('the change is published', () => statesOf('replica').at(-1) === 'IDLE');
    const before = eventsOf('replica').length;
    await plant.sandbox.addFault({
      operation: 'getMachineState',
      machineId: 'replica',
      lagSeconds: 6 * MINUTE,
    });
    await untilPolled('replica', 4);
    expect(eventsOf('replica').slice(before)).toEqual([]);
  });

  it('marks a machine as stale, and publishes no other state, after STALE_AFTER_SECONDS without newer data', async () => {
    await plant.sandbox.addFault({
      operation: 'getMachineState',
      machineId: 'replica',
      lagSeconds: HOUR,
    });
    await eventually('the machine is lost', () => lossesOf('replica').length > 0);
    expect(lossesOf('replica')).toEqual(['stale']);
    await plant.sandbox.clearFaults();
    await eventually(
      'the machine is observed again',
      () => eventsOf('replica').at(-1)?.['type'] === STATE_EVENT_TYPES.observationRestored,
    );
    expect(statesOf('replica').slice(0, 2)).toEqual(['OPERATING', 'IDLE']);
    expect(statesOf('replica').slice(2)).not.toContain('OPERATING');
  });

  it('reports a log that lags by half an hour, settles nothing beyond its end, and catches up', async () => {
    const changed = plant.clock.nowSeconds();
    await plant.sandbox.addFault({
      operation: 'getMachineActivityLog',
      machineId: 'log',
      lagSeconds: HOUR / 2,
    });
    await plant.sandbox.forceState('log', 'IDLE');
    await eventually('the log is counted as behind', async () => (await logsBehind()) === 1);
    await bridge.untilOutputMatches(
      /"msg":"(activity log is behind)","machineId":"log"/,
      'it is logged',
    );
    await eventually('the state is published', () => statesOf('log').at(-1) === 'IDLE');
    await untilPolled('log', 5);
    expect(settledUntil('log')).toBeLessThan(changed);
    await plant.sandbox.clearFaults();
    await eventually(
      'the log has been read',
      async () => (await logsBehind()) === 0 && settledUntil('log') > changed + MINUTE,
    );
    expect(lossesOf('log')).toEqual([]);
  });

  it('dates a loss during a restart by the last sight of the machine, not by its last change', async () => {
    const early = observedFrom + 4 * STALE_AFTER_SECONDS - plant.clock.nowSeconds();
    await plant.clock.sleepSeconds(Math.max(0, early));
    bridge.kill('SIGKILL');
    await bridge.exitCode();
    const forced = plant.clock.nowSeconds();
    await plant.sandbox.forceState('other', 'NO_DATA');
    bridge = plant.startBridge();
    const loss = await eventually('the loss is reported', () =>
      eventsOf('other').find(({ reason }) => reason === 'noData'),
    );
    const since = Number(loss['since']);
    expect(since).toBeGreaterThan(forced - 2 * STALE_AFTER_SECONDS - MINUTE);
    expect(since).toBeLessThanOrEqual(forced + 2 * MINUTE);
    expect(MACHINES.flatMap(eventsOf).filter((event) => 'historyTruncatedBefore' in event)).toEqual(
      [],
    );
  });
});
