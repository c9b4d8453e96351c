import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { header } from '../support/topic-reader.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Machines that have been OPERATING for half a day. */
async function play(plant: Plant, machines: readonly { machineId: string; factoryId: string }[]) {
  const startTime = Math.floor(plant.clock.nowSeconds() / MINUTE) * MINUTE - 12 * HOUR;
  const periods = [{ startTime, state: 'OPERATING' }];
  await plant.sandbox.playTimeline({
    machines: machines.map((machine) => ({ ...machine, periods })),
  });
}

describe('a factory whose machines’ polls hang', () => {
  const CLOCK_SPEED = 15;
  const HEALTHY = 20;
  const HANGING = 60;
  let plant: Plant;

  afterAll(async () => {
    await plant.sandbox.clearFaults();
    await plant.close();
  });

  it('costs the others no turn, and is asked for less often', async () => {
    plant = await startPlant({
      clockSpeed: CLOCK_SPEED,
      env: {
        BRIDGE_FLOWS: 'machine-states',
        MACHINE_CLOUD_MAX_CONCURRENCY: '4',
        // Ten seconds of the plant's.
        MACHINE_CLOUD_TIMEOUT_MS: String(Math.floor(10_000 / CLOCK_SPEED)),
      },
    });
    const machines = Array.from({ length: HEALTHY + HANGING }, (_, index) =>
      index < HEALTHY
        ? { machineId: `well-${index}`, factoryId: 'F-1' }
        : { machineId: `hung-${index}`, factoryId: 'F-2' },
    );
    await play(plant, machines);
    const topics = await plant.kafka.read(TOPICS.stateChanges);
    const keysOf = (type: string): Set<string> =>
      new Set(
        topics.records
          .filter((record) => header(record, 'ce_type') === type)
          .map(({ key }) => String(key)),
      );
    await eventually(() => keysOf(STATE_EVENT_TYPES.changed).size === machines.length, {
      what: 'all are observed',
      timeoutMs: 60_000,
    });
    await plant.sandbox.addFault({ operation: 'getMachineState', factoryId: 'F-2', hang: true });
    await eventually(() => keysOf(STATE_EVENT_TYPES.observationLost).size === HANGING, {
      what: 'those that hang are lost',
      timeoutMs: 120_000,
    });
    const since = await plant.sandbox.newestCall();
    await plant.clock.sleepSeconds(5 * MINUTE);
    const polls = (await plant.sandbox.allCalls(since)).filter(
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
    const lost = [...keysOf(STATE_EVENT_TYPES.observationLost)];
    expect(lost.filter((machineId) => machineId.startsWith('well-'))).toEqual([]);
  }, 240_000);
});
