import { realEpochMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { untilReady, untilUnreadyBecause } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

/** The two operations that commands call, each with an example of its command. */
const FLOWS = [
  {
    what: 'list',
    flow: 'work-orders',
    operation: 'setWorkOrderList',
    topic: TOPICS.workOrderLists,
    command: { workingOrders: ['4711', '4712'] },
    applied: 'work-order-list.applied.v1',
    rejected: 'work-order-list.rejected.v1',
  },
  {
    what: 'reason',
    flow: 'downtime-reasons',
    operation: 'setMachineClassification',
    topic: TOPICS.downtimeReasons,
    command: { reasonId: '11', startTime: 1_760_000_000, endTime: 1_760_000_600 },
    applied: 'downtime-reason.applied.v1',
    rejected: 'downtime-reason.rejected.v1',
  },
] as const;

const TIMES_IN_VAIN = 2;
/** A list that shares a batch with a faulty one is called with all others, with fewer of them, and alone. */
const MOST_CALLS_BESIDE = 3;
/** A timer may fire a little early. */
const TIMER_TOLERANCE_MS = 5;

interface Passing {
  name: string;
  fault: Record<string, unknown>;
  /** How often the service carries out the command; each lost answer adds one. */
  carriedOut?: number;
}

const PASSING: Passing[] = [
  ...[408, 429, 503].map((status) => ({ name: `${status}`, fault: { status } })),
  { name: 'a connection that is dropped', fault: { drop: true } },
  { name: 'no answer in time', fault: { hang: true } },
  {
    name: 'an answer that is lost after the command was carried out',
    fault: { drop: true, afterApplying: true },
    carriedOut: 1 + TIMES_IN_VAIN,
  },
];

/** libs/cloud-client/src/call-outcomes.spec.ts has the class of each status; this file tests some of each class. */
describe.each(FLOWS)('answers of the service to a $what', (flow) => {
  const { what, operation, topic, command } = flow;
  let plant: Plant;
  let answers: Answers;
  let deadLetters: TopicReader;
  /** Each test has a machine of its own, because the bridge remembers a machine's failures for a while. */
  let machine = 0;

  beforeAll(async () => {
    plant = await startPlant({
      sandboxEnv: { SANDBOX_MACHINES: '300' },
      env: {
        KAFKA_TOPIC_PARTITIONS: '1',
        BRIDGE_FLOWS: flow.flow,
        // long enough for an answer on a busy machine
        MACHINE_CLOUD_TIMEOUT_MS: '4000',
        WORK_ORDER_LIST_LINGER_MS: '200',
      },
    });
    answers = new Answers(await plant.kafka.read(TOPICS.commandOutcomes));
    deadLetters = await plant.kafka.read(`${topic}.dlq`);
  });

  afterEach(() => plant.sandbox.clearFaults());
  afterAll(() => plant.close());

  const nextMachine = (): string => {
    machine += 1;
    return `M-${String(machine).padStart(3, '0')}`;
  };

  const send = (...machineIds: string[]): Promise<void> =>
    plant.kafka.send(
      topic,
      ...machineIds.map((machineId) => ({
        key: machineId,
        value: JSON.stringify({ machineId, ...command }),
        headers: { 'message-id': machineId },
      })),
    );

  const untilFinal = async (machineIds: readonly string[], type: string): Promise<void> => {
    await answers.untilAll(machineIds);
    for (const machineId of machineIds) {
      expect(answers.finalOf(machineId)).toEqual([{ type, machineId }]);
    }
  };

  const deadLettersOf = (machineId: string): ReadRecord[] =>
    deadLetters.records.filter(({ key }) => key?.toString() === machineId);

  const callsFor = async (machineId: string): Promise<LoggedCall[]> =>
    (await plant.sandbox.calls(operation)).filter(({ machineIds }) =>
      machineIds.includes(machineId),
    );

  /** The calls for these machines count together. */
  const untilCalledFor = (machineIds: readonly string[], times: number): Promise<unknown> =>
    eventually(`${times} calls`, async () => {
      const calls = await Promise.all(machineIds.map(callsFor));
      return calls.flat().length >= times;
    });

  describe.each([404, 413, 422])('%i', (status) => {
    it(`dead-letters the faulty ${what} and no other`, async () => {
      const [bad, ...good] = Array.from({ length: 4 }, nextMachine);
      await plant.sandbox.addFault({ operation, machineId: bad, status });
      await send(bad!, ...good);
      await untilFinal(good, flow.applied);
      await untilFinal([bad!], flow.rejected);
      const [deadLetter, ...others] = await eventually(() => {
        const found = deadLettersOf(bad!);
        return found.length > 0 && found;
      });
      expect(others).toEqual([]);
      expect(header(deadLetter!, 'dlq-code')).toBe('rejected-by-service');
      expect(header(deadLetter!, 'dlq-http-status')).toBe(String(status));
      expect(good.flatMap(deadLettersOf)).toEqual([]);
      for (const machineId of good) {
        expect((await callsFor(machineId)).length).toBeLessThanOrEqual(MOST_CALLS_BESIDE);
      }
      const calls = await callsFor(bad!);
      expect(header(deadLetter!, 'dlq-attempts')).toBe(String(calls.length));
      expect(Math.max(...calls.map(({ machineIds }) => machineIds.length))).toBe(
        what === 'list' ? 4 : 1,
      );
    });
  });

  it.each([400, 415])(
    `%i to every call pauses the flow until the fault ends, and rejects no ${what}`,
    async (status) => {
      const machineIds = [nextMachine(), nextMachine(), nextMachine()];
      await plant.sandbox.addFault({ operation, status });
      await send(...machineIds);
      const why = new RegExp(`paused: .*HTTP ${status}.*the interface lists no such answer`);
      await untilUnreadyBecause(plant.bridgeUrl, why);
      await untilCalledFor(machineIds, 4);
      expect(answers.unanswered(machineIds)).toEqual(machineIds);
      await plant.sandbox.clearFaults();
      await untilFinal(machineIds, flow.applied);
      await untilReady(plant.bridgeUrl);
      expect(machineIds.flatMap(deadLettersOf)).toEqual([]);
    },
  );

  it(`404 to every call does not reject the only ${what}`, async () => {
    const machineId = nextMachine();
    await plant.sandbox.addFault({ operation, status: 404 });
    await send(machineId);
    await untilUnreadyBecause(plant.bridgeUrl, /paused: .*HTTP 404/);
    await untilCalledFor([machineId], 8);
    expect(answers.unanswered([machineId])).toEqual([machineId]);
    await plant.sandbox.clearFaults();
    await untilFinal([machineId], flow.applied);
    expect(deadLettersOf(machineId)).toEqual([]);
  });

  it(`dead-letters the only ${what} when it alone is answered 404`, async () => {
    const machineId = nextMachine();
    await plant.sandbox.addFault({ operation, machineId, status: 404 });
    await send(machineId);
    await untilFinal([machineId], flow.rejected);
    const deadLetter = await eventually(() => deadLettersOf(machineId)[0]);
    expect(header(deadLetter, 'dlq-http-status')).toBe('404');
  });

  it.each([405, 302])(`%i never rejects a ${what}`, async (status) => {
    const [machineId, ...others] = Array.from({ length: 3 }, nextMachine);
    await plant.sandbox.addFault({ operation, machineId, status });
    await send(machineId!, ...others);
    await untilFinal(others, flow.applied);
    await untilCalledFor([machineId!], 4);
    expect(answers.unanswered([machineId!])).toEqual([machineId]);
    await plant.sandbox.clearFaults();
    await untilFinal([machineId!], flow.applied);
    expect(deadLettersOf(machineId!)).toEqual([]);
  });

  it.each(PASSING)(`applies the ${what} after $name`, async ({ fault, carriedOut = 1 }) => {
    const machineId = nextMachine();
    await plant.sandbox.addFault({ operation, machineId, ...fault, count: TIMES_IN_VAIN });
    await send(machineId);
    await untilFinal([machineId], flow.applied);
    const calls = await callsFor(machineId);
    expect(calls).toHaveLength(TIMES_IN_VAIN + 1);
    expect(calls.filter(({ carriedOutAtMs }) => carriedOutAtMs !== null)).toHaveLength(carriedOut);
    expect(deadLettersOf(machineId)).toEqual([]);
  });

  it('503 delays the next call by the seconds in Retry-After', async () => {
    const machineId = nextMachine();
    await plant.sandbox.addFault({ operation, machineId, status: 503, retryAfter: 2, count: 1 });
    await send(machineId);
    await untilFinal([machineId], flow.applied);
    const [first, second] = await callsFor(machineId);
    // from its start: the log may note the end of an answer after its arrival
    expect(second!.startedAtMs - first!.startedAtMs).toBeGreaterThan(2000 - TIMER_TOLERANCE_MS);
  });

  it('429 delays the next call until the date in Retry-After', async () => {
    const machineId = nextMachine();
    const untilSeconds = Math.floor(realEpochMs() / 1000) + 3;
    const retryAfter = new Date(untilSeconds * 1000).toUTCString();
    await plant.sandbox.addFault({ operation, machineId, status: 429, retryAfter, count: 1 });
    await send(machineId);
    await untilFinal([machineId], flow.applied);
    const [, second] = await callsFor(machineId);
    expect(second!.receivedAt).toBeGreaterThanOrEqual(untilSeconds);
  });

  it.each([401, 403])(
    '%i for every machine pauses the flow until the fault ends',
    async (status) => {
      const machineIds = [nextMachine(), nextMachine()];
      await plant.sandbox.addFault({ operation, status });
      await send(...machineIds);
      await untilUnreadyBecause(plant.bridgeUrl, new RegExp(`paused: .*${status}`));
      expect(answers.unanswered(machineIds)).toEqual(machineIds);
      await plant.sandbox.clearFaults();
      await untilFinal(machineIds, flow.applied);
      await untilReady(plant.bridgeUrl);
      expect(machineIds.flatMap(deadLettersOf)).toEqual([]);
    },
  );

  it(`403 for one ${what} dead-letters it, while the others are applied`, async () => {
    const [forbidden, ...others] = Array.from({ length: 4 }, nextMachine);
    await plant.sandbox.addFault({ operation, machineId: forbidden, status: 403 });
    await send(forbidden!, ...others);
    await untilFinal(others, flow.applied);
    const deadLetter = await eventually('the dead letter', async () => {
      const other = nextMachine();
      await send(other);
      await untilFinal([other], flow.applied);
      return deadLettersOf(forbidden!)[0];
    });
    expect(header(deadLetter, 'dlq-code')).toBe('rejected-by-service');
    expect(header(deadLetter, 'dlq-http-status')).toBe('403');
    await untilFinal([forbidden!], flow.rejected);
    expect(json(deadLetter)).toMatchObject({ machineId: forbidden });
  });
});
