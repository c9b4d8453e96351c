import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { healthOf, untilReady } from '../support/health.js';
import { eventually } from '../support/eventually.js';

/** Kafka accepts records up to an hour ahead by default. */
const AHEAD_MS = 2 * 3_600_000;
/** Shifts the clock of this process only, as on a host with a wrong clock. */
const CLOCK_AHEAD = `
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) { if (given.length === 0) super(Real.now() + ${AHEAD_MS}); else super(...given); }
    static now() { return Real.now() + ${AHEAD_MS}; }
  };`;
const SAYING = "this host's clock and the broker's differ";
const DEAD_LETTERS = deadLetterTopic(TOPICS.downtimeReasons);
const MACHINE = 'M-001';
const ANOTHER_MACHINE = 'M-002';
const REASONS = [11, 12, 13].map((startTime) => ({ id: `reason ${startTime}`, startTime }));

describe('a bridge whose clock is two hours ahead', () => {
  let plant: ChaosPlant;

  const open = async (flow: string): Promise<void> => {
    const clock = `--import=data:text/javascript,${encodeURIComponent(CLOCK_AHEAD)}`;
    const env = { NODE_OPTIONS: clock, BRIDGE_FLOWS: flow };
    plant = await ChaosPlant.open({ machines: 3, partitions: 1, env });
  };

  afterEach(() => plant.close());

  const startTimesCalled = async (): Promise<unknown[]> => {
    const calls = await plant.sandbox.calls('setMachineClassification');
    return calls.map(({ body }) => (body as { startTime?: number }).startTime);
  };

  it('makes each call once, reports the problem, and publishes the answer once Kafka accepts it', async () => {
    await open('downtime-reasons');
    const { kafka } = plant;
    const answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
    const url = await plant.startBridge().ready();
    const startTimes = REASONS.map(({ startTime }) => 1_760_000_000 + startTime);
    for (const [index, { id }] of REASONS.entries()) {
      const startTime = startTimes[index]!;
      const reason = { machineId: MACHINE, reasonId: '11', startTime, endTime: startTime + 600 };
      await kafka.sendJson(TOPICS.downtimeReasons, MACHINE, reason, { 'message-id': id });
    }
    // A reason of the same machine would wait behind the other outcomes, so its dead letter might never be tried.
    await kafka.sendJson(
      TOPICS.downtimeReasons,
      ANOTHER_MACHINE,
      { machineId: ANOTHER_MACHINE },
      { 'message-id': 'malformed' },
    );
    const waiting = [TOPICS.commandOutcomes, DEAD_LETTERS, TOPICS.classificationReasons];
    await eventually('the clock and the topics are named', async () => {
      const { outcomes = '' } = (await healthOf(url)).problems;
      return outcomes.includes(SAYING) && waiting.every((topic) => outcomes.includes(topic));
    });
    // the first failed record need not be the outcome of the last call
    await eventually('all are called', async () => (await startTimesCalled()).length > 2);
    expect(await startTimesCalled()).toEqual(startTimes);
    expect(await kafka.topics.count(TOPICS.commandOutcomes)).toBe(0);

    for (const topic of waiting) {
      const config = { 'message.timestamp.after.max.ms': String(2 * AHEAD_MS) };
      await kafka.topics.configure(topic, config);
    }
    await answers.untilAll([...REASONS.map(({ id }) => id), 'malformed']);
    await untilReady(url);
    expect(answers.repetitions()).toEqual([]);
    expect(await startTimesCalled()).toEqual(startTimes);
    await kafka.groups.untilAllCommitted(plant.groupId, TOPICS.downtimeReasons);
    expect(await kafka.topics.count(DEAD_LETTERS)).toBe(1);
  });

  it('calls for no list before its state can be written, and reports the problem', async () => {
    await open('work-orders');
    await plant.kafka.sendList(MACHINE, ['4711']);
    const url = await plant.startBridge().url();
    await eventually('the clock is named', async () => {
      const { problems } = await healthOf(url);
      return problems['kafka']?.includes(SAYING) === true;
    });
    expect(await plant.sandbox.calls('setWorkOrderList')).toEqual([]);
  });
});
