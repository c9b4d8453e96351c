import { realEpochMs } from '#libs/clock';
import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
const HALF_A_DAY = 12 * 60 * MINUTE;
const MACHINES_EACH = 20;
const { changed, observationLost, observationRestored } = STATE_EVENT_TYPES;

describe('a factory whose machine states are unavailable', () => {
  let plant: Plant;
  let published: TopicReader;

  /** The machines of all events of a type. */
  const machinesWith = (type: string): string[] =>
    published.records
      .filter((record) => header(record, 'ce_type') === type)
      .map((record) => json(record)['machineId'] as string);

  beforeAll(async () => {
    const startTime = Math.floor(realEpochMs() / 1000 / MINUTE) * MINUTE - HALF_A_DAY;
    const periods = [{ startTime, state: 'OPERATING' }];
    const machines = ['F-1', 'F-2', 'F-3'].flatMap((factoryId) =>
      Array.from({ length: MACHINES_EACH }, (_, index) => {
        return { machineId: `${factoryId}-${index}`, factoryId, periods };
      }),
    );
    plant = await startPlant({
      clockSpeed: 60,
      // 60 s of the plant take a second: on a busy machine states of all factories would be stale
      env: { BRIDGE_FLOWS: 'machine-states', STALE_AFTER_SECONDS: '900' },
      prepare: (_, sandbox) => sandbox.playTimeline({ machines }),
    });
    published = await plant.kafka.read(TOPICS.stateChanges);
    await eventually(
      'all are observed',
      () => new Set(machinesWith(changed)).size === machines.length,
    );
  });

  afterAll(() => plant.close());

  const metric = async (name: string): Promise<string[]> => {
    const text = await (await fetch(`${plant.bridgeUrl}/metrics`)).text();
    return text.split('\n').filter((line) => line.startsWith(name));
  };

  const isReady = async (): Promise<boolean> => (await fetch(`${plant.bridgeUrl}/health/ready`)).ok;

  it('is the only one lost, and a metric shows it while the bridge is ready', async () => {
    await plant.sandbox.addFault({ operation: 'getMachineState', factoryId: 'F-2', status: 503 });
    await eventually(
      'every machine of the factory is lost',
      () => machinesWith(observationLost).length >= MACHINES_EACH,
    );
    const lost = machinesWith(observationLost);
    expect(lost.filter((machineId) => !machineId.startsWith('F-2'))).toEqual([]);
    expect(await metric('machine_bridge_failing_machines')).toEqual(
      expect.arrayContaining([
        'machine_bridge_failing_machines{factory="F-1"} 0',
        'machine_bridge_failing_machines{factory="F-2"} 20',
        'machine_bridge_failing_machines{factory="F-3"} 0',
      ]),
    );
    expect(await metric('machine_bridge_polls_paused')).toEqual(['machine_bridge_polls_paused 0']);
    expect(await isReady()).toBe(true);
  });

  it('is restored once it answers again, and no machine was lost twice', async () => {
    await plant.sandbox.clearFaults();
    await eventually(
      'every machine of the factory is back',
      () => machinesWith(observationRestored).length >= MACHINES_EACH,
    );
    const lost = machinesWith(observationLost);
    expect(new Set(lost).size).toBe(lost.length);
    expect(lost).toHaveLength(MACHINES_EACH);
  });

  it('makes the bridge report a pause when every factory fails', async () => {
    await plant.sandbox.addFault({ operation: 'getMachineState', status: 503 });
    await eventually('the bridge says that no machine is observed', async () => !(await isReady()));
    await eventually('polls pause', async () =>
      (await metric('machine_bridge_polls_paused')).includes('machine_bridge_polls_paused 1'),
    );
    await plant.sandbox.clearFaults();
    await eventually('the bridge is ready again', isReady);
    expect(await metric('machine_bridge_polls_paused')).toEqual(['machine_bridge_polls_paused 0']);
  });
});
