import { TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { type CommandKind, numberOfList, REASON_ID } from '../support/chaos/commands.js';
import { deliveryFaults } from '../support/chaos/delivery.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { CompressionTypes } from '../support/stock-kafkajs.js';
import { header } from '../support/topic-reader.js';

/** A broker takes record batches of 1,048,588 bytes by default; a batch of one adds about 150. */
const LARGEST_VALUE_BYTES = 1_048_576 - 200;
const LONGEST_LIST = 10_000;
const LONGEST_ID = 256;

describe('messages of the largest allowed size', () => {
  let plant: ChaosPlant;
  let bridgeUrl: string;
  let answers: Answers;
  let messages = 0;

  beforeAll(async () => {
    plant = await ChaosPlant.open({ machines: 9 });
    bridgeUrl = await plant.startBridge().ready();
    answers = new Answers(await plant.kafka.read(TOPICS.commandOutcomes));
  });

  afterAll(() => plant.close());

  const apply = async (topic: string, machineId: string, value: object): Promise<void> => {
    messages += 1;
    const messageId = `message-${messages}`;
    await plant.kafka.sendJson(topic, machineId, value, { 'message-id': messageId });
    await answers.untilAll([messageId]);
    const type = topic === TOPICS.workOrderLists ? 'work-order-list' : 'downtime-reason';
    expect(answers.finalOf(messageId)).toEqual([{ type: `${type}.applied.v1`, machineId }]);
  };

  it('are applied: a list of a megabyte, of 10,000 orders', async () => {
    const machineId = 'M-001';
    const empty = JSON.stringify({ machineId, workingOrders: Array(LONGEST_LIST).fill('') });
    const room = Math.floor((LARGEST_VALUE_BYTES - empty.length) / LONGEST_LIST);
    const workingOrders = Array.from({ length: LONGEST_LIST }, (_, number) =>
      String(number).padStart(room, '0'),
    );
    await apply(TOPICS.workOrderLists, machineId, { machineId, workingOrders });
    expect((await plant.sandbox.machine(machineId)).workingOrders).toEqual(workingOrders);
  });

  it('are applied: a reason with a megabyte of unknown fields', async () => {
    const reason = { machineId: 'M-002', reasonId: REASON_ID, startTime: 1_760_000_000 };
    const room = LARGEST_VALUE_BYTES - JSON.stringify({ ...reason, comment: '' }).length;
    await apply(TOPICS.downtimeReasons, reason.machineId, { ...reason, comment: 'x'.repeat(room) });
    const { classifications } = await plant.sandbox.machine(reason.machineId);
    expect(classifications).toMatchObject([{ reasonId: REASON_ID, startTime: reason.startTime }]);
  });

  it('are applied with ids of the largest length, in any script', async () => {
    const machineId = 'Fräse-旋盤-'.padEnd(LONGEST_ID, 'ß');
    const reasonId = 'Störung/'.padEnd(LONGEST_ID, '停');
    const order = '"4711" & ☃ '.padEnd(LONGEST_ID, '%');
    const startTime = 1_760_000_000;
    await plant.sandbox.playTimeline({
      machines: [
        {
          machineId,
          reasons: [{ code: reasonId, name: 'Stoppage' }],
          periods: [{ startTime, state: 'IDLE' }],
        },
      ],
    });
    await apply(TOPICS.workOrderLists, machineId, { machineId, workingOrders: [order] });
    await apply(TOPICS.downtimeReasons, machineId, { machineId, reasonId, startTime });
    const { workingOrders, classifications } = await plant.sandbox.machine(machineId);
    expect(workingOrders).toEqual([order]);
    expect(classifications).toMatchObject([{ reasonId, startTime }]);
    const details = await fetch(`${bridgeUrl}/api/machines/${encodeURIComponent(machineId)}`);
    expect(await details.json()).toMatchObject({ workOrderList: { workingOrders: [order] } });
  });
});

describe('messages that decompress to far more than a megabyte', () => {
  const DEAD_LETTERS = `${TOPICS.workOrderLists}.dlq`;
  let plant: ChaosPlant;

  beforeAll(async () => {
    plant = await ChaosPlant.open({ machines: 3, partitions: 1 });
    await plant.startBridge().ready();
  });

  afterAll(() => plant.close());

  const unpackedTo = async (bytes: number): Promise<void> => {
    const value = JSON.stringify({ machineId: 'M-001', pad: '' }).replace(
      '""',
      `"${'y'.repeat(bytes)}"`,
    );
    const message = { key: 'M-001', value, headers: { 'message-id': String(bytes) } };
    await plant.kafka.sendCompressed(TOPICS.workOrderLists, CompressionTypes.GZIP, message);
  };

  it('are rejected, with their value if it may be decompressed, and stop no flow', async () => {
    const [large, huge] = [30_000_000, 120_000_000];
    await unpackedTo(large);
    await unpackedTo(huge);
    await plant.kafka.sendList('M-002', ['behind']);
    await plant.sandbox.listBecomes('M-002', ['behind']);
    const deadLetters = await (
      await plant.kafka.read(DEAD_LETTERS)
    ).findAtLeast(2, 'dead letter', () => true);
    expect(deadLetters.map((deadLetter) => header(deadLetter, 'dlq-code'))).toEqual([
      'too-large',
      'too-large',
    ]);
    const [first, second] = deadLetters;
    expect(first?.value?.length).toBeGreaterThan(large);
    expect(second?.value).toBeNull();
    expect(second?.key).toBeNull();
    // Its decompressed size is unknown: the header has the size of the batch in Kafka.
    expect(Number(second && header(second, 'dlq-value-omitted'))).toBeLessThan(huge / 100);
  });
});

describe('a backlog of forty thousand messages', () => {
  const LISTS_OF_EACH = 720;
  const REASONS_OF_EACH = 80;
  const MACHINES = 50;
  const ROUNDS_AT_ONCE = 20;
  const TIMEOUT_MS = 180_000;
  let plant: ChaosPlant;

  beforeAll(async () => {
    // more in each than may be unfinished in a partition
    plant = await ChaosPlant.open({ machines: MACHINES, partitions: 2 });
    const { load } = plant;
    const send = (kind: CommandKind): Promise<void> =>
      load.send(load.machineIds, [kind], ROUNDS_AT_ONCE);
    for (let round = 0; round < LISTS_OF_EACH; round += ROUNDS_AT_ONCE) await send('list');
    for (let round = 0; round < REASONS_OF_EACH; round += ROUNDS_AT_ONCE) await send('reason');
  }, TIMEOUT_MS);

  afterAll(() => plant.close());

  it(
    'are all answered: every reason and the newest lists are applied',
    async () => {
      const { load, kafka, sandbox } = plant;
      await plant.startBridge().ready();
      const answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
      const { messageIds } = load;
      expect(messageIds).toHaveLength(40_000);
      await answers.untilAll(messageIds, TIMEOUT_MS);
      expect(answers.repetitions()).toEqual([]);
      const calls = await sandbox.allCalls();
      expect(deliveryFaults(load, calls)).toEqual([]);
      expect(overlaps(calls)).toEqual([]);
      for (const { machineId, workingOrders } of await sandbox.machines()) {
        const last = (load.sent('list').get(machineId) ?? 0) - 1;
        expect(numberOfList(workingOrders)).toBe(last);
      }
      expect(await plant.countDeadLetters()).toBe(0);
    },
    2 * TIMEOUT_MS,
  );
});
