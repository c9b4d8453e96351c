import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

/** A reason that these machines of the sandbox have. */
const REASON_ID = '11';
const OUTCOMES = TOPICS.commandOutcomes;
const DEAD_LETTERS = `${TOPICS.downtimeReasons}.dlq`;

describe('a service whose clock is not ours', () => {
  let plant: Plant;
  let answers: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ sandboxEnv: { SANDBOX_MACHINES: '24' } });
    answers = await plant.kafka.read(OUTCOMES, DEAD_LETTERS);
  });

  afterAll(() => plant.close());

  /** Statuses of the calls for these machines. */
  const statusesOf = async (machineIds: readonly string[]): Promise<(number | null)[]> => {
    const calls = await plant.sandbox.calls('setMachineClassification');
    return calls
      .filter((call) => call.machineIds.some((id) => machineIds.includes(id)))
      .map(({ status }) => status);
  };

  const offsetSeconds = async (): Promise<number> => {
    const metrics = await (await fetch(`${plant.bridgeUrl}/metrics`)).text();
    return Number(/^machine_bridge_service_clock_offset_seconds (.+)$/m.exec(metrics)?.[1]);
  };

  describe.each([
    ['0.3 s behind', -0.3, true, ['M-009', 'M-010']],
    ['0.3 s ahead', 0.3, true, ['M-011', 'M-012']],
    ['2 s ahead', 2, true, ['M-013', 'M-014']],
    ['2 s behind', -2, true, ['M-001', 'M-002']],
    ['2 s behind, and says nothing of it', -2, false, ['M-003', 'M-004']],
    ['30 s ahead', 30, true, ['M-005', 'M-006']],
    ['30 s behind', -30, true, ['M-007', 'M-008']],
  ])('%s', (_, clockOffsetSeconds, dateHeader, machineIds) => {
    it('gets every reason that begins about now, and refuses none for good', async () => {
      await plant.sandbox.setOptions({ clockOffsetSeconds, dateHeader });
      await plant.restartBridge();
      const nowSeconds = plant.clock.nowSeconds();
      for (const [index, machineId] of machineIds.entries()) {
        const reason = { machineId, reasonId: REASON_ID, startTime: nowSeconds + index };
        await plant.kafka.sendJson(TOPICS.downtimeReasons, machineId, reason);
      }
      const outcomes = await answers.take(
        machineIds.length,
        (record) =>
          record.topic === OUTCOMES && machineIds.includes(header(record, 'ce_subject') ?? ''),
        'outcome',
      );
      expect(outcomes.map(typeAndCode)).toEqual(
        machineIds.map(() => ['downtime-reason.applied.v1', null]),
      );
      expect(answers.records.filter(({ topic }) => topic === DEAD_LETTERS)).toEqual([]);
      if (dateHeader) {
        expect(await statusesOf(machineIds)).toEqual(machineIds.map(() => 200));
        expect(Math.abs((await offsetSeconds()) - clockOffsetSeconds)).toBeLessThan(1);
      } else {
        expect(await offsetSeconds()).toBeNaN();
      }
    }, 120_000);
  });
});

function typeAndCode(outcome: ReadRecord): unknown[] {
  return [header(outcome, 'ce_type'), json(outcome)['code']];
}
