import { realEpochMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { testBrokers } from '../support/kafka.js';
import { type PrintedRecord, readAsForeigner } from '../support/foreign-client.js';
import { type Plant, startPlant } from '../support/plant.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { json, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
const RUNNING_SINCE = (Math.floor(realEpochMs() / 1000 / MINUTE) - 90) * MINUTE;
const LATHE = {
  machineId: 'lathe 1',
  factoryId: 'F-7',
  periods: [{ startTime: RUNNING_SINCE, state: 'OPERATING' }],
};
const GHOST = { key: LATHE.machineId, value: '{"state":"OFF"}', headers: { ce_id: 'ghost' } };

describe('a foreign Kafka client', () => {
  let plant: Plant;
  let topics: TopicReader;

  const seeChange = async (state: string): Promise<Record<string, unknown>> =>
    json(await topics.find(`the change to ${state}`, (record) => json(record)['state'] === state));

  const read = (
    isolation: 'read_committed' | 'read_uncommitted',
    records: number,
  ): Promise<PrintedRecord[]> => {
    const topic = `${plant.kafka.topicPrefix}${TOPICS.stateChanges}`;
    return readAsForeigner({ brokers: testBrokers(), topic, isolation, records });
  };

  beforeAll(async () => {
    const script = temporaryFile('timeline.json', { machines: [LATHE] });
    plant = await startPlant({
      clockSpeed: 240,
      sandboxEnv: { SANDBOX_TIMELINE_FILE: script },
      // 300 s of the plant take a second: on a busy machine every state would be stale
      env: { BRIDGE_FLOWS: 'machine-states', STALE_AFTER_SECONDS: '7200' },
    });
    topics = await plant.kafka.read(TOPICS.stateChanges);
    await seeChange('OPERATING');
    await plant.kafka.transact(TOPICS.stateChanges, 'abort', GHOST);
    await plant.sandbox.forceState(LATHE.machineId, 'IDLE');
    await seeChange('IDLE');
  });

  afterAll(() => plant.close());

  it('reads a state change as the contract describes it', async () => {
    const [, change] = await read('read_committed', 2);
    const value = JSON.parse(change?.value ?? 'null') as Record<string, number>;
    expect(value).toEqual({
      machineId: 'lathe 1',
      factoryId: 'F-7',
      state: 'IDLE',
      previousState: 'OPERATING',
      startTime: expect.any(Number) as unknown,
      previousStartTime: RUNNING_SINCE,
      detectedAt: expect.any(Number) as unknown,
      revision: 0,
      startTimeSource: 'activityLog',
    });
    expect(change?.key).toBe('lathe 1');
    const headers = Object.fromEntries(change?.headers ?? []);
    expect(headers).toEqual({
      ce_specversion: '1.0',
      ce_id: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
      ce_source: '/machine-bridge/factories/F-7',
      ce_type: 'machine.state.changed.v1',
      ce_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.000)?Z$/) as unknown,
      ce_subject: 'lathe 1',
      ce_sequence: '2',
      'content-type': 'application/json',
    });
    expect(Date.parse(headers['ce_time'] ?? '') / 1000).toBe(value['startTime']);
  });

  it('does not see aborted records unless it asks for them', async () => {
    const idsOf = (records: readonly PrintedRecord[]): string[] =>
      records.map(({ headers }) => Object.fromEntries(headers)['ce_id'] ?? '');
    const committed = idsOf(await read('read_committed', 2));
    const all = idsOf(await read('read_uncommitted', 3));
    expect(all).toEqual([committed[0], 'ghost', committed[1]]);
  });
});
