import { randomBytes, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { realDelayMs } from '#libs/clock';
import { type Admin, ConfigResourceTypes, Kafka, logLevel } from '#libs/kafkajs-patches';
import { ensureTopics } from '../client/ensure-topics.js';
import { CommittedOffsets } from '../producer/committed-offsets.js';
import { parseOffsetMetadata } from '../producer/offset-metadata.js';
import type { OutboundRecord, RecordRefusedError } from '../producer/outbound-record.js';
import { CommitInterval, PartitionTransactions } from '../producer/partition-transactions.js';
import { TransactionEntry } from '../producer/pending-entries.js';
import { TopicHealth } from '../producer/write-failures.js';
import { sendWithStock, stockKafka, testBrokers } from '../testing/stock-client.js';
import { eventually } from '../testing/wait.js';
import { PartitionProgress } from './partition-progress.js';

interface TopicData {
  topic: string;
  partitions: { messages: unknown[] }[];
}

/** Inside kafkajs: to make the client fail within a request. */
interface BrokerClass {
  prototype: {
    produce: (request: { topicData: readonly TopicData[] }) => Promise<unknown>;
    txnOffsetCommit: () => Promise<unknown>;
    endTxn: (request: object) => Promise<unknown>;
  };
}
const Broker = createRequire(import.meta.url)('kafkajs/src/broker/index.js') as BrokerClass;
const NOT_ENOUGH_REPLICAS = 19;

describe('PartitionTransactions', () => {
  const kafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
  let admin: Admin;
  let prefix: string;
  let owners: Owner[];

  /** An owner of the input's only partition, to which all messages are handed over. */
  class Owner {
    readonly health = new TopicHealth();
    readonly ends: string[] = [];
    readonly progress = new PartitionProgress();
    readonly transactions: PartitionTransactions;
    isRecalled = false;
    mayFence = true;

    constructor(client = kafka) {
      this.transactions = new PartitionTransactions(
        `${prefix}input`,
        0,
        this.progress,
        {
          kafka: client,
          groupId: `${prefix}group`,
          committedOffsets: new CommittedOffsets(client, `${prefix}group`),
          health: this.health,
          interval: new CommitInterval(20),
          mayFence: () => this.mayFence,
        },
        {
          progressRead: (left) => {
            if (left !== undefined) this.progress.inheritProgress(left);
            this.isRecalled = true;
          },
          offsetCommitted: () => undefined,
          entryCommitted: (entry) => this.ended(entry, 'committed'),
          entryDropped: (entry) => this.ended(entry, 'dropped'),
          entryRefused: (entry, error) => this.whenRefused(entry, error),
        },
      );
      owners.push(this);
    }

    /** Returns the unfinished messages. */
    async takes(count: number): Promise<number[]> {
      await eventually('the partition is recalled', () => this.isRecalled);
      const source = { timestamp: '0', key: null, value: null, headerList: [], bytes: 1 };
      const records = Array.from({ length: count }, (_, position) => ({ ...source, position }));
      this.progress.addFetched(records, count);
      const taken: number[] = [];
      for (
        let next = this.progress.nextRecord();
        next !== undefined;
        next = this.progress.nextRecord()
      ) {
        taken.push(next.position);
      }
      return taken;
    }

    whenRefused = (entry: TransactionEntry, { code }: RecordRefusedError): void => {
      this.ended(entry, code);
    };

    write(offset: number, records: readonly OutboundRecord[], item?: number): void {
      const entry = new TransactionEntry([{ offset }], records, item === undefined, item);
      this.transactions.addToTransaction(entry);
    }

    private ended(entry: TransactionEntry, how: string): void {
      const [offset = 0] = entry.offsets;
      this.ends.push(`${offset} ${how}`);
      if (how !== 'committed') return;
      if (entry.isLast) this.progress.recordEnded({ offset, bytes: 1 }, 'finished');
      else this.progress.entryCommitted(entry);
    }
  }

  beforeEach(async () => {
    prefix = `test-${randomUUID().slice(0, 8)}.`;
    owners = [];
    const topics = ['input', 'outcomes', 'dead-letters'].map((name) => {
      const maxMessageBytes = name === 'dead-letters' ? 100_000 : 1_000_000;
      return { name: `${prefix}${name}`, cleanupPolicy: 'delete' as const, maxMessageBytes };
    });
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    admin = stockKafka.admin();
    await admin.connect();
    const messages = Array.from({ length: 20 }, () => ({ value: 'x' }));
    await sendWithStock(`${prefix}input`, ...messages);
  });

  afterEach(async () => {
    await Promise.all(owners.map(({ transactions }) => transactions.endTransactions()));
    await admin.disconnect();
  });

  const record = (value: Buffer | string, topic = 'outcomes', key = 'M-1'): OutboundRecord => ({
    topic: `${prefix}${topic}`,
    key,
    value,
    headers: {},
  });

  /** The committed records, in order. Readers see them a moment after the transaction has ended. */
  const untilWritten = async (name: string, expected: readonly string[]): Promise<void> => {
    const topic = `${prefix}${name}`;
    const consumer = stockKafka.consumer({ groupId: `${prefix}reader`, maxWaitTimeInMs: 50 });
    const values: string[] = [];
    let position = 0;
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      position = Number(payload.lastOffset) + 1;
    });
    await consumer.connect();
    try {
      await consumer.subscribe({ topic, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachMessage: ({ message }) => {
          values.push(message.value?.toString().slice(0, 20) ?? 'null');
          return Promise.resolve();
        },
      });
      await eventually(`${name} holds as much`, async () => {
        const [end] = await admin.fetchTopicOffsets(topic);
        return values.length >= expected.length && position >= Number(end!.high);
      });
    } finally {
      await consumer.disconnect();
    }
    expect(values).toEqual(expected);
  };

  const untilCommitted = (offset: number): Promise<void> =>
    eventually(`${offset} is committed`, async () => (await commit()).offset === offset);

  const commit = async (): Promise<{ offset: number; metadata: string | null }> => {
    const [topic] = await admin.fetchOffsets({
      groupId: `${prefix}group`,
      topics: [`${prefix}input`],
    });
    const { offset = '-1', metadata = null } = topic?.partitions[0] ?? {};
    return { offset: Number(offset), metadata };
  };

  it('writes the records of messages with their offset, and the messages finished ahead for the next owner', async () => {
    const first = new Owner();
    await first.takes(4);
    first.write(0, [record('zero')]);
    first.write(2, [record('two'), record('dead-letter', 'dead-letters')]);
    await first.transactions.commitPending();
    expect(first.ends).toEqual(['0 committed', '2 committed']);
    await untilWritten('outcomes', ['zero', 'two']);
    await untilWritten('dead-letters', ['dead-letter']);
    await untilCommitted(1);
    await first.transactions.endTransactions();
    expect(await new Owner().takes(4)).toEqual([1, 3]);
  });

  it('tells the next owner the done items of a message', async () => {
    const first = new Owner();
    await first.takes(2);
    first.write(0, [record('of the third')], 2);
    first.write(1, [record('one')]);
    await first.transactions.commitPending();
    await first.transactions.endTransactions();
    const next = new Owner();
    expect(await next.takes(2)).toEqual([0]);
    expect([1, 2].map((item) => next.progress.isItemDone(0, item))).toEqual([false, true]);
    next.write(0, [record('zero')]);
    await next.transactions.commitPending();
    await untilCommitted(2);
    const { offset, metadata } = await commit();
    expect([offset, parseOffsetMetadata(offset, metadata).items.size]).toEqual([2, 0]);
  });

  it('writes the replacement of a refused record before later entries', async () => {
    const owner = new Owner();
    await owner.takes(2);
    owner.whenRefused = () => owner.write(0, [record('in its place')]);
    owner.write(0, [record(randomBytes(200_000), 'dead-letters')]);
    owner.write(1, [record('behind it')]);
    await owner.transactions.commitPending();
    expect(owner.ends).toEqual(['0 committed', '1 committed']);
    await untilWritten('outcomes', ['in its place', 'behind it']);
  });

  it('fences the former owner, which does not fence its successor while it may not', async () => {
    const first = new Owner();
    await first.takes(2);
    first.write(0, [record('of the first')]);
    await first.transactions.commitPending();
    first.mayFence = false;
    const next = new Owner();
    expect(await next.takes(2)).toEqual([1]);
    first.write(1, [record('too late')]);
    next.write(1, [record('of the next')]);
    await next.transactions.commitPending();
    await first.transactions.endTransactions();
    expect(first.ends).toEqual(['0 committed', '1 dropped']);
    expect(next.ends).toEqual(['1 committed']);
    await untilWritten('outcomes', ['of the first', 'of the next']);
  });

  it('writes nothing if the session has ended during the fencing and another process owns the partition', async () => {
    const first = new Owner();
    await first.takes(2);
    first.write(0, [record('of the first')]);
    await first.transactions.commitPending();
    const next = new Owner();
    expect(await next.takes(2)).toEqual([1]);
    next.write(1, [record('of the next')]);
    await next.transactions.commitPending();
    let asked = 0;
    Object.defineProperty(first, 'mayFence', { get: () => (asked += 1) <= 1 });
    first.write(1, [record('too late')]);
    await eventually('it goes by that', () => asked > 1 || first.ends.length > 1);
    await first.transactions.endTransactions();
    expect(first.ends).toEqual(['0 committed', '1 dropped']);
    await untilWritten('outcomes', ['of the first', 'of the next']);
  });

  it('writes entries once, whether or not the transaction with the lost answer was committed', async () => {
    const owner = new Owner();
    await owner.takes(20);
    for (let offset = 0; offset < 20; offset += 1) {
      owner.write(offset, [record(String(offset))]);
      if (offset % 4 === 3) {
        // It is fenced between its transactions, as by a successor that ends at once.
        const intruder = stockKafka.producer({
          transactionalId: `${prefix}group-${prefix}input-0`,
          maxInFlightRequests: 1,
          idempotent: true,
        });
        await intruder.connect();
        const transaction = await intruder.transaction();
        await transaction.abort();
        await intruder.disconnect();
      }
      await realDelayMs(offset);
    }
    await eventually('all is committed', () => owner.ends.length === 20);
    await untilWritten(
      'outcomes',
      Array.from({ length: 20 }, (_, at) => String(at)),
    );
    await untilCommitted(20);
  });

  it.each([
    // The broker looks every ten seconds for transactions above their time-out.
    ['gives up what lasts long', 25_000],
    ['does not answer in time', 300_000],
  ])('writes less at a time where the broker %s, as over a slow line', async (_how, lastsMs) => {
    const client = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
    const producer = client.producer.bind(client);
    client.producer = (config) => producer({ ...config, transactionTimeout: 1000 });
    const owner = new Owner(client);
    await owner.takes(4);
    const { produce } = Broker.prototype;
    const written: number[] = [];
    const end = new AbortController();
    Broker.prototype.produce = async function (request) {
      const answer = await produce.call(this, request);
      const messages = request.topicData.flatMap(({ partitions }) => partitions[0]?.messages ?? []);
      written.push(messages.length);
      if (messages.length > 2) await realDelayMs(lastsMs, end.signal).catch(() => undefined);
      return answer;
    };
    try {
      for (const offset of [0, 1, 2, 3]) owner.write(offset, [record(`${offset}`)]);
      await eventually('all is committed', () => owner.ends.length === 4);
    } finally {
      Broker.prototype.produce = produce;
      end.abort();
    }
    expect(written[0]).toBe(4);
    expect(Math.max(...written.slice(1))).toBe(2);
    await untilWritten('outcomes', ['0', '1', '2', '3']);
  });

  it('lets a deleted topic hold back the entries for it, but no other machine', async () => {
    const name = `${prefix}dead-letters`;
    await admin.deleteTopics({ topics: [name] });
    // until then the broker takes records for it
    await eventually('the topic is gone', async () => !(await admin.listTopics()).includes(name));
    const owner = new Owner();
    await owner.takes(3);
    owner.write(0, [record('dead-letter', 'dead-letters'), record('rejected')]);
    owner.write(1, [record('one', 'outcomes', 'M-2')]);
    await eventually('the other is committed', () => owner.ends.includes('1 committed'));
    owner.write(2, [record('two', 'outcomes', 'M-3')]);
    await eventually('so is what comes later', () => owner.ends.includes('2 committed'));
    expect(owner.ends).not.toContain('0 committed');
    await untilCommitted(0);
    const deadLetters = [{ name, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, deadLetters, { create: true, partitions: 1 });
    await eventually('it is committed at last', () => owner.ends.includes('0 committed'));
    await untilWritten('outcomes', ['one', 'two', 'rejected']);
    await untilCommitted(3);
  });

  it.each([
    ['too large for its topic', randomBytes(200_000)],
    ['larger than any that is sent', Buffer.alloc(49 * 1024 * 1024)],
  ])(
    'has a record %s give way to its leaner form, and commits its neighbours',
    async (_, large) => {
      const owner = new Owner();
      await owner.takes(5);
      for (const offset of [0, 1, 3, 4])
        owner.write(offset, [record(String(offset), 'dead-letters')]);
      owner.write(2, [
        { ...record(large, 'dead-letters'), leaner: () => record('lean', 'dead-letters') },
      ]);
      await owner.transactions.commitPending();
      await untilWritten('dead-letters', ['0', '1', '3', '4', 'lean']);
      await untilCommitted(5);
    },
  );

  it('replaces the largest record when a message for many machines is refused as a whole', async () => {
    const owner = new Owner();
    await owner.takes(1);
    const items = Array.from({ length: 6500 }, (_, item) => item);
    for (const item of items.toReversed()) owner.write(0, [record(`${item}`, 'outcomes')], item);
    const large = randomBytes(100_000).toString('base64');
    owner.write(0, [
      { ...record(large, 'dead-letters'), leaner: () => record('lean', 'dead-letters') },
    ]);
    await owner.transactions.commitPending();
    await untilWritten('dead-letters', ['lean']);
    await untilCommitted(1);
    expect(owner.ends).toHaveLength(6501);
    expect(new Set(owner.ends)).toEqual(new Set(['0 committed']));
  });

  it('writes a record again unchanged after a passing error of the client', async () => {
    const owner = new Owner();
    await owner.takes(1);
    const { produce } = Broker.prototype;
    let failures = 0;
    Broker.prototype.produce = function (request) {
      const isIts = request.topicData.some(({ topic }) => topic === `${prefix}dead-letters`);
      if (!isIts || failures > 0) return produce.call(this, request);
      failures += 1;
      return Promise.reject(new TypeError('of undefined'));
    };
    owner.write(0, [
      { ...record('whole', 'dead-letters'), leaner: () => record('lean', 'dead-letters') },
    ]);
    await owner.transactions.commitPending().finally(() => {
      Broker.prototype.produce = produce;
    });
    expect(failures).toBe(1);
    await untilWritten('dead-letters', ['whole']);
    await untilCommitted(1);
  });

  it('pauses between failed commits of an offset alone, and reports them', async () => {
    const owner = new Owner();
    await owner.takes(1);
    const { txnOffsetCommit, endTxn } = Broker.prototype;
    let tries = 0;
    Broker.prototype.txnOffsetCommit = () => {
      tries += 1;
      return Promise.reject(new TypeError('of undefined'));
    };
    try {
      owner.progress.recordEnded({ offset: 0, bytes: 1 }, 'finished');
      await eventually('it says so', () => owner.transactions.commitProblem !== undefined);
    } finally {
      Broker.prototype.txnOffsetCommit = txnOffsetCommit;
    }
    expect(tries).toBeLessThan(30);
    Broker.prototype.endTxn = async function (request) {
      Broker.prototype.endTxn = endTxn;
      await endTxn.call(this, request);
      throw new TypeError('the answer is lost');
    };
    await untilCommitted(1);
    await eventually('it works again', () => owner.transactions.commitProblem === undefined);
    expect(Broker.prototype.endTxn).toBe(endTxn);
  });

  /** Sets the limit of the dead-letter topic; returns once the broker applies it. */
  const setMaxMessageBytes = async (bytes: number): Promise<void> => {
    const setting = { name: 'max.message.bytes', value: String(bytes) };
    const topic = { type: ConfigResourceTypes.TOPIC, name: `${prefix}dead-letters` };
    const changed = [{ ...topic, configEntries: [setting] }];
    await admin.alterConfigs({ validateOnly: false, resources: changed });
    const asked = [{ ...topic, configNames: [setting.name] }];
    await eventually('the broker goes by it', async () => {
      const found = await admin.describeConfigs({ includeSynonyms: false, resources: asked });
      return found.resources[0]?.configEntries[0]?.configValue === setting.value;
    });
  };

  it('sends all records, fewer at a time, if their topic refuses larger batches', async () => {
    const owner = new Owner();
    await owner.takes(2);
    const values = Array.from({ length: 300 }, () => randomBytes(500).toString('base64'));
    owner.write(0, [
      ...values.map((value) => record(value, 'dead-letters')),
      { ...record('whole'), leaner: () => record('lean') },
    ]);
    owner.write(1, [record('one')]);
    await eventually('both have ended', () => owner.ends.length === 2);
    expect(owner.ends).toEqual(['0 committed', '1 committed']);
    await untilWritten(
      'dead-letters',
      values.map((value) => value.slice(0, 20)),
    );
    await untilWritten('outcomes', ['whole', 'one']);
  });

  it('names the topics alone that refuse records, each with its reason', async () => {
    const owner = new Owner();
    await owner.takes(1);
    const refusing = new Set([`${prefix}dead-letters`]);
    const { produce } = Broker.prototype;
    // A broker answers so if too few replicas are in sync; with one replica, one is enough.
    Broker.prototype.produce = async function (request) {
      const isRefused = ({ topic }: TopicData): boolean => refusing.has(topic);
      const refused = request.topicData.filter(isRefused).map(({ topic, partitions }) => ({
        topicName: topic,
        partitions: partitions.map((entry) => ({ ...entry, errorCode: NOT_ENOUGH_REPLICAS })),
      }));
      const topicData = request.topicData.filter((data) => !isRefused(data));
      if (topicData.length === 0) return { topics: refused };
      const answer = (await produce.call(this, { ...request, topicData })) as { topics: object[] };
      return { topics: [...answer.topics, ...refused] };
    };
    const named = () =>
      owner.health.writtenTopics().flatMap(({ topic, problem }) => {
        const isNamed = problem?.includes(`min.insync.replicas asks for of ${topic} (`);
        return problem === undefined ? [] : [isNamed === true ? topic : problem];
      });
    try {
      owner.write(0, [record('rejected'), record('dead-letter', 'dead-letters')]);
      await eventually('the one is named', () => named().length > 0);
      expect(named()).toEqual([`${prefix}dead-letters`]);
      refusing.add(`${prefix}outcomes`);
      await eventually('so is the other', () => named().length === 2);
      expect(named().sort()).toEqual([...refusing].sort());
    } finally {
      Broker.prototype.produce = produce;
    }
    await eventually('it is committed', () => owner.ends.length === 1);
    expect(named()).toEqual([]);
  });

  it('waits for a topic that refuses even small records, without holding back other machines', async () => {
    // room for transaction markers alone
    await setMaxMessageBytes(100);
    const owner = new Owner();
    await owner.takes(2);
    owner.write(0, [
      { ...record('whole'), leaner: () => record('lean') },
      record(randomBytes(100), 'dead-letters'),
    ]);
    owner.write(1, [record('one', 'outcomes', 'M-2')]);
    await eventually('the other is committed', () => owner.ends.includes('1 committed'));
    const problemOf = (name: string) =>
      owner.health.writtenTopics().find(({ topic }) => topic === `${prefix}${name}`)?.problem;
    await eventually('the topic is named', () => problemOf('dead-letters') !== undefined);
    expect(problemOf('dead-letters')).toContain('larger than max.message.bytes allows');
    expect(problemOf('outcomes')).toBeUndefined();
    expect(owner.ends).toEqual(['1 committed']);
    await setMaxMessageBytes(100_000);
    await eventually('both have ended', () => owner.ends.length === 2);
    expect(owner.ends).toEqual(['1 committed', '0 committed']);
    await untilWritten('outcomes', ['one', 'whole']);
    await untilCommitted(2);
  });

  it('reports an entry that is always refused, and goes on', async () => {
    const owner = new Owner();
    await owner.takes(2);
    owner.write(0, [record(randomBytes(200_000), 'dead-letters')]);
    owner.write(1, [record('one')]);
    await eventually('both have ended', () => owner.ends.length === 2);
    expect(owner.ends.sort()).toEqual(['0 too-large', '1 committed']);
  });
});
