import { realEpochMs } from '#libs/clock';
import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
const CLOCK_SPEED = 240;
const START = Math.floor(realEpochMs() / 1000 / MINUTE) * MINUTE;
const FIRST_MINUTE = -60;
/** Half an hour of the test: the script must outlast the test. */
const LAST_MINUTE = 5 * 24 * 60;

type ScriptedState = 'OPERATING' | 'IDLE' | 'OFF' | null;

interface ScriptedPeriod {
  startTime: number;
  endTime: number;
  state: ScriptedState;
}

/** Repeats `cycle` from an hour before the start to days after it. */
function around(...cycle: [state: ScriptedState, minutes: number][]): ScriptedPeriod[] {
  const periods: ScriptedPeriod[] = [];
  for (let minute = FIRST_MINUTE; minute < LAST_MINUTE;) {
    for (const [state, minutes] of cycle) {
      const startTime = START + minute * MINUTE;
      periods.push({ startTime, endTime: startTime + minutes * MINUTE, state });
      minute += minutes;
    }
  }
  return periods;
}

const SCRIPT = {
  steady: around(['OPERATING', 17], ['IDLE', 6], ['OFF', 9]),
  flickering: around(['OPERATING', 5], ['IDLE', 1], ['OPERATING', 3], ['OFF', 1]),
  interrupted: around(['OPERATING', 14], [null, 9], ['IDLE', 11]),
  reconsidered: around(['OPERATING', LAST_MINUTE - FIRST_MINUTE]),
  silent: [],
};

function writeScript(): string {
  const machines = Object.entries(SCRIPT).map(([machineId, periods]) => ({
    machineId,
    displayName: `The ${machineId} one`,
    factoryId: 'F-7',
    periods: periods.filter(({ state }) => state !== null),
  }));
  return temporaryFile('timeline.json', { machines });
}

describe('machine states', () => {
  let plant: Plant;
  let topics: TopicReader;

  const eventsOf = (machineId: string): ReadRecord[] =>
    topics.records.filter(
      (record) => record.topic === TOPICS.stateChanges && record.key?.toString() === machineId,
    );
  const changesOf = (machineId: string): Record<string, unknown>[] =>
    eventsOf(machineId)
      .filter((record) => header(record, 'ce_type') === STATE_EVENT_TYPES.changed)
      .map(json);

  async function seeChanges(machineId: string, count: number): Promise<void> {
    await eventually(
      `${count} changes of ${machineId}`,
      () => changesOf(machineId).length >= count,
    );
  }

  function expectHistoryOf(machineId: keyof typeof SCRIPT): void {
    const published = changesOf(machineId).map(({ state, startTime }) => ({ state, startTime }));
    const history = SCRIPT[machineId]
      .filter(({ state }) => state !== null)
      .map(({ state, startTime }) => ({ state, startTime }));
    const first = history.findIndex(({ startTime }) => startTime === published[0]?.startTime);
    expect(published).toEqual(history.slice(first, first + published.length));
    const sequences = eventsOf(machineId).map((record) => header(record, 'ce_sequence'));
    expect(sequences).toEqual(sequences.map((_, index) => String(index + 1)));
  }

  beforeAll(async () => {
    plant = await startPlant({
      clockSpeed: CLOCK_SPEED,
      sandboxEnv: { SANDBOX_TIMELINE_FILE: writeScript() },
      env: {
        BRIDGE_FLOWS: 'machine-states',
        // a second is 240 of the plant: on a busy machine states would be stale, and settled
        STALE_AFTER_SECONDS: String(120 * MINUTE),
        SETTLE_SECONDS: String(60 * MINUTE),
      },
    });
    await plant.sandbox.setOptions({ durationJitter: true });
    topics = await plant.kafka.read(TOPICS.stateChanges, TOPICS.states);
  });

  afterAll(() => plant.close());

  it('publishes every period with its start from the activity log, in order', async () => {
    await seeChanges('steady', 4);
    expectHistoryOf('steady');
    expect(changesOf('steady').slice(1)).toEqual(
      changesOf('steady')
        .slice(1)
        .map(() => expect.objectContaining({ startTimeSource: 'activityLog' }) as unknown),
    );
  });

  it('reports minutes without data as lost and restored, never as OFF', async () => {
    await eventually('the interrupted machine is back', () =>
      eventsOf('interrupted').some(
        (record) => header(record, 'ce_type') === STATE_EVENT_TYPES.observationRestored,
      ),
    );
    await seeChanges('interrupted', 4);
    expectHistoryOf('interrupted');
    expect(changesOf('interrupted').map(({ state }) => state)).not.toContain('OFF');
  });

  it('corrects a start that the log moves before it is settled', async () => {
    await seeChanges('reconsidered', 1);
    await plant.sandbox.forceState('reconsidered', 'IDLE');
    await seeChanges('reconsidered', 2);
    const idle = changesOf('reconsidered')[1]!;
    const startTime = Number(idle['startTime']);
    await plant.sandbox.forceState('reconsidered', 'IDLE', startTime - 2 * MINUTE);
    const corrected = await topics.find(
      'the corrected start',
      (record) =>
        record.key?.toString() === 'reconsidered' &&
        header(record, 'ce_type') === STATE_EVENT_TYPES.corrected,
    );
    expect(json(corrected)).toEqual({
      ...idle,
      startTime: startTime - 2 * MINUTE,
      startTimeSource: 'activityLog',
      revision: 1,
      corrects: header(eventsOf('reconsidered')[1]!, 'ce_id'),
      detectedAt: expect.any(Number) as unknown,
    });
    expect(header(corrected, 'ce_sequence')).toBe('3');
  });

  it('shows a machine without data as such', async () => {
    const record = await topics.find(
      'the state of the silent machine',
      ({ topic, key }) => topic === TOPICS.states && key?.toString() === 'silent',
    );
    expect(json(record)).toMatchObject({ state: null, startTime: null, observation: 'noData' });
    expect(changesOf('silent')).toEqual([]);
  });

  it('keeps the latest state beside the changes', async () => {
    await seeChanges('steady', 4);
    const change = eventsOf('steady')[3]!;
    const sequence = Number(header(change, 'ce_sequence'));
    const record = await topics.find(
      'the latest state of the steady machine',
      (it) =>
        it.topic === TOPICS.states &&
        it.key?.toString() === 'steady' &&
        json(it)['sequence'] === sequence,
    );
    const { state, startTime } = json(change);
    expect(json(record)).toMatchObject({
      machineId: 'steady',
      factoryId: 'F-7',
      displayName: 'The steady one',
      state,
      startTime,
      observation: 'ok',
    });
  });

  it('continues after a restart as if there had been none', async () => {
    const before = {
      steady: changesOf('steady').length,
      flickering: changesOf('flickering').length,
    };
    await plant.restartBridge();
    await seeChanges('steady', before.steady + 3);
    await seeChanges('flickering', before.flickering + 6);
    expectHistoryOf('steady');
    expectHistoryOf('flickering');
    expectHistoryOf('interrupted');
  });

  it('publishes the missed states after the service was away', async () => {
    await plant.sandbox.setOptions({ clipActivityLog: false });
    const before = changesOf('flickering').length;
    await plant.sandbox.addFault({ operation: 'getMachineState', status: 503 });
    await plant.clock.sleepSeconds(4 * MINUTE);
    await plant.sandbox.clearFaults();
    await seeChanges('flickering', before + 6);
    expectHistoryOf('flickering');
  });
});
