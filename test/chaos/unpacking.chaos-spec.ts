import { TOPICS } from '#libs/contracts';
import type { AppProcess } from '../support/app-process.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { VitalsWatch } from '../support/chaos/vitals-watch.js';
import { testBrokers } from '../support/kafka.js';
import {
  batchOfRecords,
  batchOfOne,
  type PackedBatch,
  produce,
  snappyInBlocks,
  zstdOfHeaders,
  zstdOfOneByte,
} from '../support/poison/packed-batches.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const MIB = 1024 * 1024;
const LONGEST_SILENCE_MS = 1000;
const MOST_GROWTH_BYTES = 200 * 1000 * 1000;

describe('record batches that decompress to far more than their size', () => {
  const TOPIC = TOPICS.workOrderLists;
  let plant: ChaosPlant;
  let bridge: AppProcess;
  let vitals: VitalsWatch;
  let deadLetters: TopicReader;
  let outcomes: TopicReader;
  let lists = 0;

  beforeAll(async () => {
    plant = await ChaosPlant.open({ machines: 3, partitions: 1 });
    await plant.kafka.topics.allowBatchesOf(TOPIC, 20 * MIB);
    bridge = plant.startBridge();
    const url = await bridge.ready();
    deadLetters = await plant.kafka.read(`${TOPIC}.dlq`);
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
    await listArrives();
    vitals = new VitalsWatch(bridge.pid, url);
  });

  afterAll(async () => {
    await vitals.stop();
    await plant.close();
  });

  /** A list that is sent now is applied, and all messages before it are committed. */
  const listArrives = async (): Promise<void> => {
    lists += 1;
    const workingOrders = [`behind-${lists}`];
    await plant.kafka.sendList('M-001', workingOrders);
    await plant.sandbox.listBecomes('M-001', workingOrders);
    await plant.kafka.groups.untilAllCommitted(plant.groupId, TOPIC);
  };

  const expectWell = async (): Promise<void> => {
    const { longestMs, growthBytes } = await vitals.read();
    expect(longestMs).toBeLessThan(LONGEST_SILENCE_MS);
    expect(growthBytes).toBeLessThan(MOST_GROWTH_BYTES);
  };

  const send = (batch: PackedBatch): Promise<void> =>
    produce(testBrokers()[0]!, `${plant.kafka.topicPrefix}${TOPIC}`, 0, batch);

  it.each([
    ['a gigabyte in 32 KB of zstd', () => zstdOfOneByte(1024 * MIB)],
    ['60 million empty headers in 11 KB of zstd', () => zstdOfHeaders(60_000_000)],
    ['200 MiB of gzip', () => batchOfOne('gzip', 200 * MIB)],
    ['200 MiB of snappy', () => batchOfOne('snappy', 200 * MIB)],
    ['200 MiB of lz4', () => batchOfOne('lz4', 200 * MIB)],
    ['200 MiB of zstd', () => batchOfOne('zstd', 200 * MIB)],
  ])('are rejected without a value, and stop no flow: %s', async (_, make) => {
    const offset = await plant.kafka.topics.endOffset(TOPIC);
    const batch = await make();
    await send(batch);
    await listArrives();
    const isIts = (value: string | undefined): boolean => value === String(offset);
    const deadLetter = await deadLetters.find('its dead letter', (it) =>
      isIts(header(it, 'dlq-source-offset')),
    );
    expect(deadLetter).toMatchObject({ key: null, value: null });
    expect(header(deadLetter, 'dlq-code')).toBe('too-large');
    expect(Number(header(deadLetter, 'dlq-value-omitted'))).toBeGreaterThan(batch.packed.length);
    const published = await outcomes.find('its outcome', (it) => {
      const { source } = json(it) as { source: { offset: number } };
      return source.offset === offset;
    });
    expect(json(published)).toMatchObject({ code: 'too-large', machineId: null });
    await expectWell();
  });

  it.each([
    ['20 million empty headers in zstd', () => zstdOfHeaders(20_000_000)],
    ['60 MiB of gzip', () => batchOfOne('gzip', 60 * MIB)],
    ['60 MiB of snappy', () => batchOfOne('snappy', 60 * MIB)],
    ['60 MiB of lz4', () => batchOfOne('lz4', 60 * MIB)],
    ['60 MiB of zstd', () => batchOfOne('zstd', 60 * MIB)],
  ])('are read below the bound, and their one message is refused: %s', async (_, make) => {
    const offset = await plant.kafka.topics.endOffset(TOPIC);
    await send(await make());
    await listArrives();
    const deadLetter = await deadLetters.find(
      'its dead letter',
      (it) => header(it, 'dlq-source-offset') === String(offset),
    );
    expect(header(deadLetter, 'dlq-code')).toBe('too-large');
    await expectWell();
  });

  it('are applied if they are valid: a list in snappy blocks of 40 bytes', async () => {
    const machineId = 'M-002';
    const workingOrders = Array.from({ length: 9000 }, (_, index) =>
      `order-${index}`.padEnd(75, '.'),
    );
    const list = Buffer.from(JSON.stringify({ machineId, workingOrders }));
    await send(await snappyInBlocks(list, 40));
    await plant.sandbox.listBecomes(machineId, workingOrders);
    await expectWell();
  });

  it('of a million records are rejected by one dead letter that names the range', async () => {
    const offset = await plant.kafka.topics.endOffset(TOPIC);
    const records = 1_000_000;
    await send(await batchOfRecords('zstd', records));
    await listArrives();
    const deadLetter = await deadLetters.find(
      'its dead letter',
      (it) => header(it, 'dlq-source-offset') === String(offset),
    );
    const range = `offsets ${offset} to ${offset + records - 1}`;
    expect(header(deadLetter, 'dlq-detail')).toContain(range);
    await expectWell();
  });

  it('cost no more, however many arrive', async () => {
    for (let bomb = 0; bomb < 30; bomb += 1) await send(zstdOfOneByte(1024 * MIB));
    await listArrives();
    await expectWell();
  });
});

describe('record batches of many records, or of many bytes', () => {
  const TOPIC = TOPICS.workOrderLists;
  let plant: ChaosPlant;

  // Each test has its own topics and process, so that leftovers of one batch there and in the heap do not count.
  beforeEach(async () => {
    plant = await ChaosPlant.open({ machines: 3, partitions: 1 });
    await plant.kafka.topics.allowBatchesOf(TOPIC, 20 * MIB);
  });

  afterEach(() => plant.close());

  const untilCommitted = (): Promise<void> =>
    plant.kafka.groups.untilAllCommitted(plant.groupId, TOPIC);

  it.each([
    ['5,000 tiny ones in gzip', () => batchOfRecords('gzip', 5000)],
    ['5,000 tiny ones in snappy', () => batchOfRecords('snappy', 5000)],
    ['5,000 tiny ones in lz4', () => batchOfRecords('lz4', 5000)],
    ['as many tiny ones as there may be, in zstd', () => batchOfRecords('zstd', 100_000)],
    ['10,000 of 40 MiB in zstd', () => batchOfRecords('zstd', 10_000, 4200)],
    ['2,000 of 58 MiB in zstd', () => batchOfRecords('zstd', 2000, 30_000)],
    ['25,000 of 6 MiB in zstd', () => batchOfRecords('zstd', 25_000, 250)],
  ])('are rejected one by one: %s', async (codec, make) => {
    const bridge = plant.startBridge();
    const url = await bridge.ready();
    await plant.kafka.sendJson(TOPIC, 'M-001', { machineId: 'M-001', workingOrders: [codec] });
    await plant.sandbox.listBecomes('M-001', [codec]);
    const batch = await make();
    const vitals = new VitalsWatch(bridge.pid, url);
    await produce(testBrokers()[0]!, `${plant.kafka.topicPrefix}${TOPIC}`, 0, batch);
    await untilCommitted();
    const { longestMs, growthBytes } = await vitals.read();
    await vitals.stop();
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
    expect(await plant.kafka.topics.count(`${TOPIC}.dlq`)).toBe(batch.records);
    expect(longestMs).toBeLessThan(LONGEST_SILENCE_MS);
    // the bridge keeps their bytes until they are done; their handling needs memory on top
    expect(growthBytes).toBeLessThan(MOST_GROWTH_BYTES + batch.unpackedBytes);
  });
});
