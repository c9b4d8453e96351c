import { TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { commandId, OPERATION_OF, TOPIC_OF } from '../support/chaos/commands.js';
import { deliveryFaults } from '../support/chaos/delivery.js';
import { fromCommitted, type MayRepeat } from '../support/chaos/delivery-faults.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { eventually } from '../support/eventually.js';

const OTHERS = 50;
const REASONS_OF_EACH = 400;
const REASONS_OF_THE_STUCK = 500;
/** Long enough for tens of thousands of calls on a busy machine. */
const TIMEOUT_MS = 180_000;
/** A bridge without load needs about 150 MB. */
const MOST_MEMORY_MB = 400;

describe('a machine whose reasons the service keeps failing', () => {
  let plant: ChaosPlant;
  let answers: Answers;
  let others: string[];
  let stuck: string;
  let bridgeUrl: string;
  let residentMb: number;
  /** Sequence number of the last call before the bridge was killed. */
  let killedAfter: number;

  const committed = async (): Promise<number> =>
    (await plant.kafka.groups.committedOffsets(plant.groupId, TOPIC_OF.reason)).get(0) ?? 0;

  const idsOf = (machineId: string, count: number): string[] =>
    Array.from({ length: count }, (_, number) => commandId({ kind: 'reason', machineId, number }));

  beforeAll(async () => {
    plant = await ChaosPlant.open({ machines: OTHERS + 1, partitions: 1 });
    const { load, kafka, sandbox } = plant;
    others = load.machineIds.slice(0, OTHERS);
    stuck = load.machineIds[OTHERS]!;
    await sandbox.addFault({ operation: OPERATION_OF.reason, machineId: stuck, status: 500 });
    const bridge = plant.startBridge();
    bridgeUrl = await bridge.ready();
    answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
    for (let round = 0; round < REASONS_OF_EACH; round += 1) {
      await load.send([...others, stuck], ['reason']);
    }
    for (let round = REASONS_OF_EACH; round < REASONS_OF_THE_STUCK; round += 1) {
      await load.send([stuck], ['reason']);
    }
    await answers.untilAll(
      others.flatMap((machineId) => idsOf(machineId, REASONS_OF_EACH)),
      TIMEOUT_MS,
    );
    residentMb = await residentMemoryMb(bridgeUrl);
    await eventually(
      'all before the first of the stuck ones is committed',
      async () => (await committed()) === OTHERS,
    );
    bridge.kill('SIGKILL');
    await bridge.exitCode();
    killedAfter = await sandbox.newestCallOfEnded();
  }, 2 * TIMEOUT_MS);

  afterAll(() => plant.close());

  it('delays no other machine of its partition, and needs bounded memory', () => {
    expect(residentMb).toBeLessThan(MOST_MEMORY_MB);
  });

  it('holds its offset, so that nothing is lost when the bridge is killed meanwhile', async () => {
    expect(await committed()).toBe(OTHERS);
  });

  it(
    'gets all reasons in order after the fault has ended',
    async () => {
      const { load, sandbox } = plant;
      expect(answers.unanswered(load.messageIds)).toEqual(idsOf(stuck, REASONS_OF_THE_STUCK));
      await sandbox.clearFaults();
      await plant.startBridge().ready();
      await answers.untilAll(load.messageIds, TIMEOUT_MS);
      await plant.kafka.groups.untilAllCommitted(plant.groupId, TOPICS.downtimeReasons);
      const calls = await sandbox.allCalls();
      // The first message of each other machine is before the held offset.
      const floor = new Map(others.map((machineId) => [machineId, 1]));
      const mayRepeat = (): MayRepeat => fromCommitted([floor]);
      expect(deliveryFaults(load, calls, { takeovers: [killedAfter], mayRepeat })).toEqual([]);
      expect(overlaps(calls)).toEqual([]);
      expect(await plant.countDeadLetters()).toBe(0);
    },
    2 * TIMEOUT_MS,
  );
});

async function residentMemoryMb(bridgeUrl: string): Promise<number> {
  const text = await (await fetch(`${bridgeUrl}/metrics`)).text();
  const bytes = /^process_resident_memory_bytes (\S+)/m.exec(text)?.[1];
  return Number(bytes) / (1024 * 1024);
}
