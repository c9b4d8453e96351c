import { realEpochMs } from '#libs/clock';
import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant, type PlantOptions } from '../support/plant.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
const HALF_A_DAY = 12 * 60 * MINUTE;
const { changed, observationLost, observationRestored } = STATE_EVENT_TYPES;

/** Factories of machines that have been OPERATING for half a day, and all states as they are published. */
class Fleet {
  private constructor(
    readonly plant: Plant,
    private readonly published: TopicReader,
  ) {}

  /** Resolves once each machine has been observed. */
  static async start(
    machinesOf: Readonly<Record<string, number>>,
    { env, ...options }: PlantOptions,
  ): Promise<Fleet> {
    const startTime = Math.floor(realEpochMs() / 1000 / MINUTE) * MINUTE - HALF_A_DAY;
    const periods = [{ startTime, state: 'OPERATING' }];
    const machines = Object.entries(machinesOf).flatMap(([factoryId, count]) =>
      Array.from({ length: count }, (_, index) => {
        return { machineId: `${factoryId}-${index}`, factoryId, periods };
      }),
    );
    const plant = await startPlant({
      ...options,
      env: { BRIDGE_FLOWS: 'machine-states', ...env },
      prepare: (_, sandbox) => sandbox.playTimeline({ machines }),
    });
    const fleet = new Fleet(plant, await plant.kafka.read(TOPICS.stateChanges));
    await eventually(() => new Set(fleet.machinesWith(changed)).size === machines.length, {
      what: 'all are observed',
    });
    return fleet;
  }

  /** Of each event of a type the machine. */
  machinesWith(type: string): string[] {
    return this.published.records
      .filter((record) => header(record, 'ce_type') === type)
      .map((record) => json(record)['machineId'] as string);
  }
}

describe('a factory of which no machine’s state can be had', () => {
  const MACHINES_EACH = 20;
  let fleet: Fleet;
  let plant: Plant;

  beforeAll(async () => {
    const factories = { 'F-1': MACHINES_EACH, 'F-2': MACHINES_EACH, 'F-3': MACHINES_EACH };
    fleet = await Fleet.start(factories, { clockSpeed: 60 });
    plant = fleet.plant;
  });

  afterAll(() => plant.close());

  const metric = async (name: string): Promise<string[]> => {
    const text = await (await fetch(`${plant.bridgeUrl}/metrics`)).text();
    return text.split('\n').filter((line) => line.startsWith(name));
  };

  const isReady = async (): Promise<boolean> => (await fetch(`${plant.bridgeUrl}/health/ready`)).ok;

  it('is lost alone, and shown by a metric while the bridge is ready', async () => {
    await plant.sandbox.addFault({ operation: 'getMachineState', factoryId: 'F-2', status: 503 });
    await plant.clock.sleepSeconds(8 * MINUTE);
    await eventually(() => fleet.machinesWith(observationLost).length >= MACHINES_EACH, {
      what: 'every machine of the factory is lost',
    });
    const lost = fleet.machinesWith(observationLost);
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

  it('is back as soon as it answers again, and nobody was lost twice', async () => {
    await plant.sandbox.clearFaults();
    await eventually(() => fleet.machinesWith(observationRestored).length >= MACHINES_EACH, {
      what: 'every machine of the factory is back',
    });
    const lost = fleet.machinesWith(observationLost);
    expect(new Set(lost).size).toBe(lost.length);
    expect(lost).toHaveLength(MACHINES_EACH);
  });

  it('makes the bridge say that it is paused when it is every factory', async () => {
    await plant.sandbox.addFault({ operation: 'getMachineState', status: 503 });
    await eventually(async () => !(await isReady()), {
      what: 'the bridge says that no machine is observed',
    });
    await eventually(
      async () =>
        (await metric('machine_bridge_polls_paused')).includes('machine_bridge_polls_paused 1'),
      { what: 'polls pause' },
    );
    await plant.sandbox.clearFaults();
    await eventually(isReady, { what: 'the bridge is ready again' });
    expect(await metric('machine_bridge_polls_paused')).toEqual(['machine_bridge_polls_paused 0']);
  });
});

describe('a factory whose machines’ polls hang', () => {
  const CLOCK_SPEED = 15;
  const HEALTHY = 20;
  const HANGING = 60;
  let fleet: Fleet;

  afterAll(async () => {
    await fleet.plant.sandbox.clearFaults();
    await fleet.plant.close();
  });

  it('costs the others no turn, and is asked for less often', async () => {
    fleet = await Fleet.start(
      { well: HEALTHY, hung: HANGING },
      {
        clockSpeed: CLOCK_SPEED,
        env: {
          MACHINE_CLOUD_MAX_CONCURRENCY: '4',
          // Ten seconds of the plant's.
          MACHINE_CLOUD_TIMEOUT_MS: String(Math.floor(10_000 / CLOCK_SPEED)),
        },
      },
    );
    const { sandbox, clock } = fleet.plant;
    await sandbox.addFault({ operation: 'getMachineState', factoryId: 'hung', hang: true });
    await eventually(() => new Set(fleet.machinesWith(observationLost)).size === HANGING, {
      what: 'those that hang are lost',
      timeoutMs: 120_000,
    });
    const since = await sandbox.newestCall();
    await clock.sleepSeconds(5 * MINUTE);
    const polls = (await sandbox.allCalls(since)).filter(
      ({ operation }) => operation === 'getMachineState',
    );
    const times = new Map<string, number[]>();
    for (const { machineIds, startedAtMs } of polls) {
      const [machineId = ''] = machineIds;
      times.set(machineId, [...(times.get(machineId) ?? []), startedAtMs]);
    }
    const gaps = [...times]
      .filter(([machineId]) => machineId.startsWith('well-'))
      .map(([, at]) => Math.max(...at.slice(1).map((ms, index) => ms - at[index]!)));
    expect(gaps).toHaveLength(HEALTHY);
    expect((Math.max(...gaps) / 1000) * CLOCK_SPEED).toBeLessThan(2 * MINUTE);
    const hung = polls.filter(({ machineIds }) => machineIds[0]?.startsWith('hung-'));
    expect(hung.length / HANGING).toBeLessThan(4);
    const lost = fleet.machinesWith(observationLost);
    expect(lost.filter((machineId) => machineId.startsWith('well-'))).toEqual([]);
  }, 240_000);
});
