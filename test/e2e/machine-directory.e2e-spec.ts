import { realEpochMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { json, type TopicReader } from '../support/topic-reader.js';

const START = Math.floor(realEpochMs() / 1000) - 3600;

const REASONS = [
  { name: 'Jam', code: '22' },
  { name: 'Set-up', code: '31' },
];

/** The body of `POST /sandbox/timeline` for a plant whose machines all operate. */
function plantOf(
  machines: Record<string, { displayName: string; factoryId: string }>,
): Record<string, unknown> {
  return {
    machines: Object.entries(machines).map(([machineId, names]) => ({
      machineId,
      ...names,
      reasons: REASONS,
      periods: [{ startTime: START, state: 'OPERATING' }],
    })),
  };
}

describe('the machine directory', () => {
  let plant: Plant;
  let topics: TopicReader;

  /** The latest value of a compacted topic's key: undefined when there is none, null for a tombstone. */
  const latest = (topic: string, machineId: string): Record<string, unknown> | null | undefined => {
    const record = topics.records.findLast(
      (it) => it.topic === topic && it.key?.toString() === machineId,
    );
    return record === undefined || record.value === null ? record && null : json(record);
  };

  const seen = (topic: string, machineId: string, expected: unknown): Promise<true> =>
    eventually(`${machineId} on ${topic}`, () => {
      expect(latest(topic, machineId)).toEqual(expected);
      return true;
    });

  beforeAll(async () => {
    plant = await startPlant({
      clockSpeed: 60,
      env: { DIRECTORY_REFRESH_SECONDS: '60', REASONS_REFRESH_SECONDS: '120' },
    });
    await plant.sandbox.playTimeline(
      plantOf({
        'M-1': { displayName: 'Mill', factoryId: 'F-1' },
        'M-2': { displayName: 'Lathe', factoryId: 'F-1' },
      }),
    );
    topics = await plant.kafka.read(TOPICS.registry, TOPICS.classificationReasons, TOPICS.states);
  });

  afterAll(() => plant.close());

  it('publishes each machine that the token may see', async () => {
    const names = { displayName: 'Mill', factoryId: 'F-1', factoryName: 'F-1' };
    await seen(TOPICS.registry, 'M-1', { machineId: 'M-1', ...names });
    await seen(TOPICS.registry, 'M-2', { machineId: 'M-2', ...names, displayName: 'Lathe' });
  });

  it('publishes the reasons that may be set for it', async () => {
    await seen(TOPICS.classificationReasons, 'M-1', {
      machineId: 'M-1',
      reasons: REASONS,
      updatedAt: expect.any(Number) as number,
    });
  });

  it('follows machines that appear, change their name or factory, or are removed', async () => {
    await plant.sandbox.playTimeline(
      plantOf({
        'M-1': { displayName: 'Big mill', factoryId: 'F-2' },
        'M-3': { displayName: 'Press', factoryId: 'F-1' },
      }),
    );
    await seen(TOPICS.registry, 'M-1', {
      machineId: 'M-1',
      displayName: 'Big mill',
      factoryId: 'F-2',
      factoryName: 'F-2',
    });
    await seen(TOPICS.states, 'M-1', expect.objectContaining({ factoryId: 'F-2' }));
    await seen(TOPICS.registry, 'M-3', expect.objectContaining({ displayName: 'Press' }));
    await seen(TOPICS.registry, 'M-2', null);
    await seen(TOPICS.classificationReasons, 'M-2', null);
    await seen(TOPICS.states, 'M-2', null);
  });

  it('publishes a machine that returns, and its reasons, as if it were new', async () => {
    await plant.sandbox.playTimeline(
      plantOf({ 'M-2': { displayName: 'Lathe', factoryId: 'F-1' } }),
    );
    await seen(TOPICS.registry, 'M-2', expect.objectContaining({ displayName: 'Lathe' }));
    await seen(
      TOPICS.classificationReasons,
      'M-2',
      expect.objectContaining({ machineId: 'M-2', reasons: REASONS }),
    );
  });
});
