import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';

/** The number of concurrent look-ups of reasons. */
const LOOK_UPS = 16;
const READS = ['getMachineState', 'getClassificationReasons'];

describe('a service whose reads hang', () => {
  let plant: Plant;

  beforeAll(async () => {
    plant = await startPlant({
      sandboxEnv: { SANDBOX_MACHINES: '20' },
      env: {
        MACHINE_CLOUD_MAX_CONCURRENCY: '1',
        // No read ends during the test.
        MACHINE_CLOUD_TIMEOUT_MS: '120000',
        DIRECTORY_REFRESH_SECONDS: '1',
      },
    });
  });

  afterAll(() => plant.close());

  const underWay = async (operation: string): Promise<number> =>
    (await plant.sandbox.calls(operation)).filter(({ endedAtMs }) => endedAtMs === null).length;

  it('still gets commands and requests for its machines', async () => {
    for (const operation of READS) await plant.sandbox.addFault({ operation, hang: true });
    await plant.restartBridge();
    for (let number = 1; number <= LOOK_UPS; number += 1) {
      const machineId = `M-${String(number).padStart(3, '0')}`;
      const reason = { machineId, reasonId: '11', startTime: 1_763_680_000 };
      await plant.kafka.sendJson(TOPICS.downtimeReasons, machineId, reason);
    }
    await eventually(
      'a poll and all look-ups hang',
      async () =>
        (await underWay('getClassificationReasons')) === LOOK_UPS &&
        (await underWay('getMachineState')) === 1,
    );
    const machineId = 'M-020';
    await plant.kafka.sendList(machineId, ['4711']);
    await plant.sandbox.listBecomes(machineId, ['4711']);
    const since = await plant.sandbox.newestCall();
    await eventually(
      'the machines are asked for',
      async () => (await plant.sandbox.countCalls('getMachineInfo', since, 1)) > 0,
    );
  });
});
