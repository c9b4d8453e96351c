import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { header, type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.downtimeReasons}.dlq`;

interface Reasons {
  reasons: { name: string; code: string }[];
}

describe('downtime reasons', () => {
  let plant: Plant;
  let answers: TopicReader;
  let reasonId: string;

  beforeAll(async () => {
    plant = await startPlant();
    answers = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
    const path = '/api/v1/machineClassifications?machineId=M-001';
    const response = await fetch(`${plant.sandbox.url}${path}`, {
      headers: { authorization: 'Bearer sandbox-token' },
    });
    reasonId = ((await response.json()) as Reasons).reasons[0]!.code;
  });

  afterAll(() => plant.close());

  const send = (machineId: string, reason: Record<string, unknown>): Promise<void> =>
    plant.kafka.sendJson(TOPICS.downtimeReasons, machineId, { machineId, ...reason });

  const deadLetterOf = (machineId: string) =>
    answers.find(
      `a dead letter keyed ${machineId}`,
      ({ topic, key }) => topic === DEAD_LETTERS && key?.toString() === machineId,
    );

  it('attaches a reason to a period', async () => {
    const startTime = plant.clock.nowSeconds() - 3600;
    await send('M-001', { reasonId, startTime, endTime: startTime + 600 });
    const [classification] = await eventually(
      'the sandbox has a classification of M-001',
      async () => {
        const { classifications } = await plant.sandbox.machine('M-001');
        return classifications.length > 0 && classifications;
      },
    );
    expect(classification).toMatchObject({ reasonId, startTime, endTime: startTime + 600 });
    const outcome = await answers.firstAbout('M-001');
    expect(header(outcome, 'ce_type')).toBe('downtime-reason.applied.v1');
  });

  it('leaves an open-ended reason without an end, and accepts `reason` for `reasonId`', async () => {
    await send('M-002', {
      reason: reasonId,
      startTime: plant.clock.nowSeconds() - 60,
      endTime: '',
    });
    await answers.firstAbout('M-002');
    const calls = await plant.sandbox.calls('setMachineClassification');
    const call = calls.find(({ machineIds }) => machineIds.includes('M-002'));
    expect(call?.body).not.toHaveProperty('endTime');
  });

  it.each([
    ['unknown-reason', 'M-004', () => ({ reasonId: 'no-such', startTime: 1_700_000_000 })],
    ['unknown-machine', 'M-998', () => ({ reasonId, startTime: 1_700_000_000 })],
  ])('dead-letters a reason as %s', async (code, machineId, reason) => {
    await send(machineId, reason());
    const deadLetter = await deadLetterOf(machineId);
    expect(header(deadLetter, 'dlq-code')).toBe(code);
    expect(header(deadLetter, 'dlq-source-topic')).toBe(
      `${plant.kafka.topicPrefix}${TOPICS.downtimeReasons}`,
    );
    expect(header(deadLetter, 'dlq-attempts')).toBe('0');
  });
});
