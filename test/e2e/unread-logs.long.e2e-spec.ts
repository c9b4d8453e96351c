import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { foldStates } from '../support/states/fold-states.js';
import { truthOf, untruth } from '../support/states/truth-of.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** An hour is six seconds. */
const CLOCK_SPEED = 600;
const OUTAGE_REAL_SECONDS = 8;
/** From before the first period. */
const BEFORE_ALL_SECONDS = 13 * HOUR;

/** What each machine's log is answered right after the outage. */
const ODD_ANSWERS: Record<string, Record<string, unknown>> = {
  unauthorised: { status: 401 },
  forbidden: { status: 403 },
  notFound: { status: 404 },
  noContent: { status: 204 },
  empty: { status: 200, body: '[]' },
};
const MACHINES = [...Object.keys(ODD_ANSWERS), 'restarted'];

describe('an activity log that gives odd answers after an outage', () => {
  let plant: Plant;
  let topics: TopicReader;
  let watchedSince: number;
  let offFrom: number;

  const eventsOf = (machineId: string): ReadRecord[] =>
    topics.records.filter(
      (record) => record.topic === TOPICS.stateChanges && record.key?.toString() === machineId,
    );

  const lost = (machineId: string, reason: string): ReadRecord | undefined =>
    eventsOf(machineId).find(
      (record) =>
        header(record, 'ce_type') === STATE_EVENT_TYPES.observationLost &&
        json(record)['reason'] === reason,
    );

  const untilTrue = async (machineId: string): Promise<void> => {
    await eventually(
      async () => {
        const until = offFrom + 2 * HOUR;
        if (plant.clock.nowSeconds() < until) return false;
        const truth = await truthOf(
          plant.sandbox,
          machineId,
          watchedSince - BEFORE_ALL_SECONDS,
          until,
        );
        const wrong = untruth(machineId, truth, foldStates(eventsOf(machineId)), watchedSince);
        if (wrong !== undefined) throw new Error(wrong);
        return true;
      },
      { what: `the hour that nobody saw of ${machineId}`, timeoutMs: 40_000 },
    );
  };

  beforeAll(async () => {
    plant = await startPlant({
      clockSpeed: CLOCK_SPEED,
      env: { BRIDGE_FLOWS: 'machine-states' },
    });
    const { sandbox, clock } = plant;
    const startTime = Math.floor(clock.nowSeconds() / MINUTE) * MINUTE - 12 * HOUR;
    const periods = [{ startTime, state: 'OPERATING' }];
    await sandbox.playTimeline({
      machines: MACHINES.map((machineId) => ({ machineId, factoryId: 'F-1', periods })),
    });
    topics = await plant.kafka.read(TOPICS.stateChanges, TOPICS.states);
    await eventually(() => MACHINES.every((machineId) => eventsOf(machineId).length > 0), {
      what: 'all machines are observed',
    });
    watchedSince = clock.nowSeconds();

    await sandbox.addFault({
      operation: 'getMachineState',
      status: 503,
      durationSeconds: OUTAGE_REAL_SECONDS,
    });
    for (const [machineId, answer] of Object.entries(ODD_ANSWERS)) {
      await sandbox.addFault({
        operation: 'getMachineActivityLog',
        machineId,
        count: 2,
        ...answer,
      });
    }
    await sandbox.addFault({
      operation: 'getMachineActivityLog',
      machineId: 'restarted',
      status: 404,
      durationSeconds: 3 * OUTAGE_REAL_SECONDS,
    });
    await clock.sleepSeconds(5 * MINUTE);
    offFrom = clock.nowSeconds();
    for (const machineId of MACHINES) await sandbox.forceState(machineId, 'OFF');
    await clock.sleepSeconds(HOUR);
    for (const machineId of MACHINES) await sandbox.forceState(machineId, 'OPERATING');
  }, 120_000);

  afterAll(async () => {
    await plant.close();
  });

  it.each(Object.keys(ODD_ANSWERS))('is read once more after it was %s', async (machineId) => {
    await untilTrue(machineId);
  });

  it('is read by the next process, if it was not before', async () => {
    await eventually(
      () => eventsOf('restarted').some((record) => 'previousEndTime' in json(record)),
      { what: 'the present state is published from its duration' },
    );
    await plant.restartBridge();
    await untilTrue('restarted');
  });

  it('does not date a loss after a restart back to the latest change', async () => {
    const { clock, sandbox } = plant;
    await clock.sleepSeconds(2 * HOUR);
    await plant.bridge.close();
    await sandbox.forceState('forbidden', 'NO_DATA');
    const forced = clock.nowSeconds();
    await plant.restartBridge();
    await eventually(() => lost('forbidden', 'noData') !== undefined, {
      what: 'the loss is reported',
    });
    const { since } = json(lost('forbidden', 'noData')!);
    expect(since).toBeGreaterThan(forced - 30 * MINUTE);
    expect(since).toBeLessThanOrEqual(forced + 2 * MINUTE);
  });

  it('says up to when the history is settled', async () => {
    await topics.find(
      (record) =>
        record.topic === TOPICS.states &&
        record.key?.toString() === 'empty' &&
        Number(json(record)['settledUntil']) > offFrom + HOUR,
      'the hour is settled',
    );
  });
});
