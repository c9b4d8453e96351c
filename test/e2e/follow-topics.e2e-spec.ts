import { loadKafkaSettings } from '#libs/config';
import {
  createKafka,
  ensureTopics,
  type FollowedTopic,
  type FollowState,
  followTopics,
  IdempotentProducer,
  type KafkaClient,
  type StoredRecord,
} from '#libs/kafka';
import { eventually } from '../support/eventually.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';

const FETCH = 1;
const LIST_OFFSETS = 2;
const MISSING = 'UNKNOWN_TOPIC_OR_PARTITION';

const clientOf = (brokers: string[]): KafkaClient =>
  createKafka(loadKafkaSettings({ KAFKA_BROKERS: brokers.join(',') }));

describe('following topics', () => {
  const prefix = uniqueTopicPrefix();
  const kafka = clientOf(testBrokers());
  const plant = new TestKafka(testBrokers(), prefix);
  const closers: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  afterAll(() => plant.close());

  const createTopic = async (name: string): Promise<string> => {
    const topic = { name: `${prefix}${name}`, cleanupPolicy: 'delete' as const };
    await ensureTopics(kafka, [topic], { create: true, partitions: 2 });
    return topic.name;
  };

  const follow = (
    client: KafkaClient,
    topics: FollowedTopic[],
  ): { read: string[]; states: FollowState[]; problems: (string | null)[] } => {
    const stopping = new AbortController();
    const read: string[] = [];
    const states: FollowState[] = [];
    const problems: (string | null)[] = [];
    const following = followTopics(client, topics, {
      signal: stopping.signal,
      onRecords: (records: readonly StoredRecord[]) => {
        read.push(...records.map(({ value }) => value?.toString() ?? ''));
      },
      onState: (state, problem) => {
        states.push(state);
        problems.push(problem);
      },
    });
    closers.push(async () => {
      stopping.abort();
      await following;
    });
    return { read, states, problems };
  };

  it('reads the existing records, reports their end, and continues with committed records', async () => {
    const topic = await createTopic('all');
    await plant.send('all', { key: 'a', value: '1' });
    await plant.transact('all', 'abort', { key: 'a', value: 'taken back' });
    await plant.transact('all', 'commit', { key: 'b', value: '2' });
    const { read, states } = follow(kafka, [{ topic, from: 'beginning' }]);
    await eventually('all has been read', () => states.at(-1) === 'up');
    expect([...read].sort()).toEqual(['1', '2']);
    await plant.send('all', { key: 'a', value: '3' });
    await eventually('the new record', () => read.includes('3'));
    expect(states).toEqual(['restoring', 'up']);
  });

  it('begins with the latest records on request', async () => {
    const topic = await createTopic('latest');
    await plant.send('latest', ...['1', '2', '3'].map((value) => ({ partition: 0, value })));
    const { read, states } = follow(kafka, [{ topic, from: { sinceMs: 0, maxPerPartition: 2 } }]);
    await eventually('all has been read', () => states.at(-1) === 'up');
    expect(read).toEqual(['2', '3']);
  });

  it('is up at once when the topic is empty', async () => {
    const topic = await createTopic('empty');
    const { states } = follow(kafka, [{ topic, from: 'beginning' }]);
    await eventually('nothing has been read', () => states.at(-1) === 'up');
  });

  it('reports when Kafka is away, and continues after the last record when it is back', async () => {
    const topic = await createTopic('away');
    await plant.send('away', { key: 'a', value: '1' });
    const relay = await KafkaRelay.to(testBrokers()[0]!);
    closers.push(() => relay.close());
    const { read, states } = follow(clientOf([relay.address]), [{ topic, from: 'beginning' }]);
    await eventually('all has been read', () => states.at(-1) === 'up');
    relay.cut();
    await eventually('Kafka is away', () => states.at(-1) === 'down');
    await plant.send('away', { key: 'a', value: '2' });
    relay.restore();
    await eventually('Kafka is back', () => states.at(-1) === 'up');
    // after a reconnection, the state may be known before the records of the first answer
    await eventually('what was written meanwhile', () => read.length > 1);
    expect(read).toEqual(['1', '2']);
  });

  it('restarts from the beginning of a recreated topic', async () => {
    const topic = await createTopic('anew');
    await plant.send('anew', ...['1', '2', '3'].map((value) => ({ partition: 0, value })));
    const { read, states } = follow(kafka, [{ topic, from: 'beginning' }]);
    await eventually('all has been read', () => states.at(-1) === 'up');
    await plant.topics.deleteTopic('anew');
    await createTopic('anew');
    await plant.send('anew', { partition: 0, value: '4' });
    await eventually('the record of the new topic', () => read.includes('4'));
    expect(read).toEqual(['1', '2', '3', '4']);
  });

  it('restarts with a recreated topic that is longer than before when it is found', async () => {
    const [topic, other] = [await createTopic('longer'), await createTopic('other')];
    const [before, after] = [
      ['1', '2', '3'],
      ['4', '5', '6', '7'],
    ];
    await plant.send('other', { key: 'a', value: 'of the other' });
    await plant.send('longer', ...before.map((value) => ({ partition: 0, value })));
    const followed: FollowedTopic[] = [
      { topic, from: 'beginning' },
      { topic: other, from: 'beginning' },
    ];
    const relay = await KafkaRelay.to(testBrokers()[0]!);
    closers.push(() => relay.close());
    const { read, states, problems } = follow(clientOf([relay.address]), followed);
    await eventually('all has been read', () => states.at(-1) === 'up');
    await plant.topics.deleteTopic('longer');
    const isMissing = (problem: string | null) => problem?.endsWith(` of ${topic} (${MISSING})`);
    await eventually('it is missing', () => problems.some(isMissing));
    relay.cut();
    await createTopic('longer');
    await plant.send('longer', ...after.map((value) => ({ partition: 0, value })));
    relay.restore();
    await eventually('the last record of the new topic', () => read.includes('7'));
    expect(read.filter((value) => value !== 'of the other')).toEqual([...before, ...after]);
    expect(read).toHaveLength(before.length + after.length + 1);
  });

  it('restarts with a topic that is recreated between two fetches and longer by the second', async () => {
    const topic = await createTopic('grown');
    await plant.send('grown', ...['1', '2', '3'].map((value) => ({ partition: 0, value })));
    const relay = await KafkaRelay.to(testBrokers()[0]!);
    closers.push(() => relay.close());
    const { read, states } = follow(clientOf([relay.address]), [{ topic, from: 'beginning' }]);
    await eventually('all has been read', () => states.at(-1) === 'up');
    relay.holdBack((request) => request.readInt16BE(4) === FETCH);
    await eventually('nothing is fetched', () => relay.heldBack > 0);
    await plant.topics.deleteTopic('grown');
    await createTopic('grown');
    relay.release();
    relay.holdBack((request) => request.readInt16BE(4) === LIST_OFFSETS);
    await eventually('the new topic ends before what is fetched', () => relay.heldBack > 0);
    const after = ['4', '5', '6', '7'];
    await plant.send('grown', ...after.map((value) => ({ partition: 0, value })));
    relay.release();
    await eventually('the last record of the new topic', () => read.includes('7'));
    expect(read).toEqual(['1', '2', '3', ...after]);
  });

  it('writes each record once although Kafka goes away before its answer, and returns its place', async () => {
    const topic = await createTopic('written');
    const relay = await KafkaRelay.to(testBrokers()[0]!);
    closers.push(() => relay.close());
    const producer = new IdempotentProducer(clientOf([relay.address]));
    closers.push(() => producer.closeProducer());
    const send = (value: string) => producer.sendRecord({ topic, key: 'M-1', value, headers: {} });
    const first = await send('0');
    relay.cutInPlaceOfAnswer();
    const sending = Promise.all(['1', '2', '3'].map(send));
    await eventually('it says so', () => producer.writeProblem);
    relay.restore();
    const places = await sending;
    expect(places.map(({ offset }) => offset - first.offset)).toEqual([1, 2, 3]);
    expect(new Set(places.map(({ partition }) => partition))).toEqual(new Set([first.partition]));
    const { read, states } = follow(kafka, [{ topic, from: 'beginning' }]);
    await eventually('all has been read', () => states.at(-1) === 'up');
    expect(read).toEqual(['0', '1', '2', '3']);
  });
});
