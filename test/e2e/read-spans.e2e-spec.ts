import { loadKafkaSettings } from '#libs/config';
import {
  createKafka,
  ensureTopics,
  type KafkaClient,
  readRecords,
  readSpans,
  type StoredRecord,
  topicSpans,
} from '#libs/kafka';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';

const never = new AbortController().signal;
const text = ({ value }: StoredRecord): string => value?.toString() ?? '';
const numbers = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => String(from + index));

describe('reading spans of a topic', () => {
  const prefix = uniqueTopicPrefix();
  const settings = loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') });
  const kafka: KafkaClient = createKafka(settings);
  const plant = new TestKafka(testBrokers(), prefix);

  afterAll(() => plant.close());

  const createTopic = async (name: string, partitions = 1): Promise<string> => {
    const topic = { name: `${prefix}${name}`, cleanupPolicy: 'delete' as const };
    await ensureTopics(kafka, [topic], { create: true, partitions });
    return topic.name;
  };

  const readAll = async (topic: string, signal = never): Promise<StoredRecord[]> => {
    const read: StoredRecord[] = [];
    const onRecords = (records: readonly StoredRecord[]): void => {
      read.push(...records);
    };
    await readSpans(kafka, await topicSpans(kafka, topic), {
      signal,
      onRecords,
    });
    return read;
  };

  it('reads every record of every partition in order, and no later ones', async () => {
    const topic = await createTopic('all', 3);
    const sent = numbers(2500);
    // A partition of a new topic may not be ready: a retry would duplicate records of others without a sequence.
    const producer = await plant.steadyProducer();
    await producer.send({ topic, messages: sent.map((value) => ({ key: value, value })) });
    const spans = await topicSpans(kafka, topic);
    await plant.send('all', { key: 'late', value: 'late' });
    const read: StoredRecord[] = [];
    await readSpans(kafka, spans, {
      signal: never,
      onRecords: (records) => {
        expect(records.length).toBeLessThanOrEqual(100);
        read.push(...records);
      },
    });
    expect(read.map(text).sort()).toEqual([...sent].sort());
    const places = read.map(({ partition, offset }) => partition * 10_000 + offset);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it('reads from the middle to before the end, and skips empty spans', async () => {
    const topic = await createTopic('part', 2);
    await plant.send('part', ...numbers(10).map((value) => ({ partition: 1, value })));
    const spans = [
      { topic, partition: 0, from: 0, until: 0 },
      { topic, partition: 1, from: 3, until: 6 },
    ];
    const read: string[] = [];
    const onRecords = (records: readonly StoredRecord[]): void => {
      read.push(...records.map(text));
    };
    await readSpans(kafka, spans, { signal: never, onRecords });
    expect(read).toEqual(['3', '4', '5']);
  });

  it('ends although the log ends with transaction markers and aborted records', async () => {
    const topic = await createTopic('transactions');
    await plant.transact('transactions', 'commit', { value: 'kept' });
    await plant.transact('transactions', 'abort', ...numbers(300).map((value) => ({ value })));
    await plant.transact('transactions', 'abort', { value: 'not kept' });
    expect((await readAll(topic)).map(text)).toEqual(['kept']);
  });

  it('ends when the topic is empty', async () => {
    expect(await readAll(await createTopic('nothing', 3))).toEqual([]);
  });

  it('ends between two batches when its signal aborts', async () => {
    const topic = await createTopic('stopped');
    await plant.send('stopped', ...numbers(1000).map((value) => ({ value })));
    const stop = new AbortController();
    const sizes: number[] = [];
    await readSpans(kafka, await topicSpans(kafka, topic), {
      signal: stop.signal,
      onRecords: (records) => {
        sizes.push(records.length);
        if (sizes.length === 2) stop.abort();
      },
    });
    expect(sizes).toEqual([100, 100]);
  });

  it('rethrows an error of onRecords at once', async () => {
    const topic = await createTopic('failing');
    await plant.send('failing', ...numbers(300).map((value) => ({ value })));
    let calls = 0;
    const read = readSpans(kafka, await topicSpans(kafka, topic), {
      signal: never,
      onRecords: () => {
        calls += 1;
        throw new Error('no more');
      },
    });
    await expect(read).rejects.toThrow('no more');
    expect(calls).toBe(1);
  });

  it('reads several spans of one partition, close together and far apart', async () => {
    const topic = await createTopic('stretches');
    const value = 'x'.repeat(1000);
    for (const start of [0, 750, 1500, 2250]) {
      await plant.send('stretches', ...numbers(750, start).map((key) => ({ key, value })));
    }
    const stretches = [
      [3, 5],
      [6, 7],
      [2500, 2503],
      [2999, 3000],
    ];
    const spans = stretches.map(([from = 0, until = 0]) => ({ topic, partition: 0, from, until }));
    const read: string[] = [];
    const onRecords = (records: readonly StoredRecord[]): void => {
      read.push(...records.map(({ key }) => key?.toString() ?? ''));
    };
    await readSpans(kafka, spans, { signal: never, onRecords });
    expect(read).toEqual(['3', '4', '6', '2500', '2501', '2502', '2999']);
  });

  it('reads single records by their places, and nothing for lost ones', async () => {
    const [kept, cut, gone] = await Promise.all([
      createTopic('kept', 2),
      createTopic('cut'),
      createTopic('gone'),
    ]);
    await plant.send('kept', ...numbers(5).map((value) => ({ partition: 1, value })));
    await plant.send('cut', { value: 'cut' });
    await plant.topics.deleteRecords('cut');
    await plant.send('cut', { value: 'not cut' });
    await plant.send('gone', { value: 'gone' });
    await plant.topics.deleteTopic('gone');
    const places = [
      { topic: kept, partition: 1, offset: 4 },
      { topic: gone, partition: 0, offset: 0 },
      { topic: kept, partition: 1, offset: 2 },
      { topic: kept, partition: 1, offset: 5 },
      { topic: kept, partition: 0, offset: 0 },
      { topic: kept, partition: 7, offset: 0 },
      { topic: cut, partition: 0, offset: 0 },
      { topic: cut, partition: 0, offset: 1 },
    ];
    const records = await readRecords(kafka, places, { signal: never });
    expect(records.map((record) => record && text(record))).toEqual([
      ...['4', undefined, '2', undefined, undefined, undefined, undefined, 'not cut'],
    ]);
  });

  it('leaves no consumer group behind', async () => {
    const topic = await createTopic('groups');
    await plant.send('groups', { value: 'x' });
    await readAll(topic);
    expect(await plant.groups.names()).not.toContainEqual(expect.stringMatching(`^${prefix}`));
  });
});
