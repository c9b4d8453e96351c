import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { loadKafkaSettings } from '#libs/config';
import { createKafka, ensureTopics, IdempotentProducer } from '#libs/kafka';
import { eventually } from '../support/eventually.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';

/** The class inside kafkajs that requests a producer id. */
interface BrokerClass {
  prototype: { initProducerId: (request: object) => Promise<unknown> };
}
const Broker = createRequire(import.meta.url)('kafkajs/src/broker/index.js') as BrokerClass;

describe('the idempotent producer', () => {
  const prefix = uniqueTopicPrefix();
  const clientOf = (brokers: string) => createKafka(loadKafkaSettings({ KAFKA_BROKERS: brokers }));
  const client = clientOf(testBrokers().join(','));
  const kafka = new TestKafka(testBrokers(), prefix);
  const producer = new IdempotentProducer(client);
  const topic = `${prefix}out`;

  beforeAll(async () => {
    const limited = { name: topic, cleanupPolicy: 'delete' as const, maxMessageBytes: 100_000 };
    await ensureTopics(client, [limited], { create: true, partitions: 1 });
  });

  afterAll(async () => {
    await producer.closeProducer();
    await kafka.close();
  });

  const record = (key: string, value: Buffer | string) => ({ topic, key, value, headers: {} });

  it('sends the others in order when one record is too large, and reports that one', async () => {
    const sent = [
      ...['a', 'b', 'c'].map((key) => record(key, key)),
      record('large', randomBytes(200_000)),
      ...['d', 'e'].map((key) => record(key, key)),
    ];
    const refused = await producer.sendRecords(sent);
    expect([...refused]).toMatchObject([[{ key: 'large' }, { code: 'too-large' }]]);
    const reader = await kafka.read('out');
    const records = await reader.findAtLeast(5, 'record', () => true);
    expect(records.map(({ key }) => key?.toString())).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('compresses records that are too large only uncompressed, and very large ones at once', async () => {
    for (const bytes of [200_000, 32_000_000]) {
      const value = Buffer.alloc(bytes);
      await producer.sendRecord(record(`${bytes}`, value));
      const reader = await kafka.read('out');
      const large = await reader.find('the record', ({ key }) => key?.toString() === `${bytes}`);
      expect(large.value?.equals(value)).toBe(true);
    }
  });

  it.each([
    ['a record that exceeds any request', 'beyond-bound', record('f', Buffer.alloc(120_000_000))],
    [
      'a record that cannot be encoded',
      'unencodable',
      { ...record('e', ''), headers: { bad: null as unknown as string } },
    ],
  ])('reports at once %s, and continues with the others', async (_, code, refused) => {
    const [first, second] = await Promise.allSettled([
      producer.sendRecord(refused),
      producer.sendRecord(record('g', 'small')),
    ]);
    expect(first).toMatchObject({ reason: { code } });
    expect(second).toMatchObject({ status: 'fulfilled' });
    expect(producer.writeProblem).toBeUndefined();
  });

  it('sends a record with its own time, and reports at once when the topic rejects that', async () => {
    const timestamp = '1763680000123';
    const own = { 'cleanup.policy': 'delete', 'message.timestamp.before.max.ms': '60000' };
    await kafka.topics.createCompacted('recent', own);
    const refused = await producer.sendRecords([
      { ...record('timed', '1'), timestamp },
      record('untimed', '2'),
      { ...record('old', '1'), topic: `${prefix}recent`, timestamp },
    ]);
    expect([...refused]).toMatchObject([[{ key: 'old' }, { code: 'ill-dated' }]]);
    const reader = await kafka.read('out');
    const old = await reader.find('the old record', ({ key }) => key?.toString() === 'timed');
    const young = await reader.find('the young record', ({ key }) => key?.toString() === 'untimed');
    expect(old.timestamp).toBe(timestamp);
    expect(Number(young.timestamp)).toBeGreaterThan(Number(timestamp));
  });

  it('reports at once a record without a key that a compacted topic rejects, and sends the others', async () => {
    await kafka.topics.createCompacted('compacted', {});
    const topic = `${prefix}compacted`;
    const refused = await producer.sendRecords([
      { ...record('a', '1'), topic },
      { ...record('', '2'), topic, key: null },
      { ...record('b', '3'), topic },
    ]);
    expect([...refused]).toMatchObject([[{ value: '2' }, { code: 'keyless' }]]);
    const reader = await kafka.read('compacted');
    await eventually('the others are there', () => reader.records.length === 2);
  });

  it('writes accepted records once, although another partition refuses a record of the batch', async () => {
    await kafka.topics.createMissing(2, 'shared');
    await kafka.topics.configure('shared', { 'max.message.bytes': '100000' });
    const shared = (key: string, partition: number, value: Buffer | string) => ({
      ...{ ...record(key, value), topic: `${prefix}shared`, partition },
    });
    const refused = await producer.sendRecords([
      shared('a', 0, 'small'),
      shared('b', 1, 'small'),
      shared('c', 0, randomBytes(200_000)),
      shared('d', 0, 'small'),
    ]);
    expect([...refused.keys()].map(({ key }) => key)).toEqual(['c']);
    const reader = await kafka.read('shared');
    await reader.findAtLeast(3, 'record', () => true);
    expect(await kafka.topics.count('shared')).toBe(3);
    const ofFirst = reader.records.filter(({ partition }) => partition === 0);
    expect(ofFirst.map(({ key }) => key?.toString())).toEqual(['a', 'd']);
  });

  it('keeps records for a deleted topic, reports it, and writes them in order', async () => {
    const own = new IdempotentProducer(client);
    const warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    await kafka.topics.createMissing(1, 'gone');
    const lost = (key: string) => ({ ...record(key, ''), topic: `${prefix}gone` });
    await own.sendRecord(lost('before'));
    await kafka.topics.deleteTopic('gone');
    const sends = ['a', 'b', 'c'].map((key) => own.sendRecord(lost(key)));
    const problem = await eventually('the problem is reported', () => own.writeProblem);
    expect(problem).toContain(`${prefix}gone`);
    const line = { msg: 'Kafka did not take records', topics: [`${prefix}gone`] };
    expect(warned).toHaveBeenCalledWith(expect.objectContaining(line));
    await kafka.topics.createMissing(1, 'gone');
    await Promise.all(sends);
    const reader = await kafka.read('gone');
    const records = await reader.findAtLeast(3, 'record', () => true);
    expect(records.map(({ key }) => key?.toString())).toEqual(['a', 'b', 'c']);
    expect(own.writeProblem).toBeUndefined();
    await own.closeProducer();
  });

  it('continues with a new producer when the broker lost its sequence, as after a restore', async () => {
    const start = client.producer.bind(client);
    const answer = { name: 'KafkaJSProtocolError', type: 'OUT_OF_ORDER_SEQUENCE_NUMBER' };
    const lost = Object.assign(new Error('an out of order sequence number'), answer);
    const producers = jest.spyOn(client, 'producer').mockImplementationOnce((options) => ({
      ...start(options),
      sendBatch: () => Promise.reject(lost),
    }));
    const own = new IdempotentProducer(client);
    expect(await own.sendRecord(record('g', ''))).toMatchObject({ topic });
    expect(producers).toHaveBeenCalledTimes(2);
    await own.closeProducer();
  });

  it('leaves no connection open when it is refused a producer id', async () => {
    const [broker = ''] = testBrokers();
    const relay = await KafkaRelay.to(broker);
    const own = new IdempotentProducer(clientOf(relay.address));
    const { initProducerId } = Broker.prototype;
    let refusals = 0;
    Broker.prototype.initProducerId = function () {
      refusals += 1;
      return Promise.reject(new Error('not now'));
    };
    try {
      const sent = own.sendRecord(record('late', ''));
      await eventually('it is refused three times', () => refusals >= 3);
      Broker.prototype.initProducerId = initProducerId;
      await sent;
      await own.closeProducer();
      await eventually('all connections are closed', () => relay.openConnections === 0);
    } finally {
      Broker.prototype.initProducerId = initProducerId;
      await relay.close();
    }
  });

  it('logs each failure of its connections only once in a while', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const admin = clientOf('127.0.0.1:1').admin();
    await expect(admin.connect()).rejects.toThrow();
    const lines = warned.mock.calls.map(([line]) => (line as { msg: string }).msg);
    expect(lines.join('\n')).toContain('ECONNREFUSED');
    expect(lines).toEqual([...new Set(lines)]);
  });

  it.each([
    ['sendRecord', (it: IdempotentProducer) => it.sendRecord(record('h', ''))],
    ['sendRecords', (it: IdempotentProducer) => it.sendRecords([record('h', '')])],
  ])('reports that Kafka is away, and waits for nothing once it is closed: %s', async (_, send) => {
    const stuck = new IdempotentProducer(clientOf('127.0.0.1:1'));
    const sent = send(stuck).catch((error: unknown) => String(error));
    await eventually('the problem is reported', () => stuck.writeProblem);
    await stuck.closeProducer();
    expect(await sent).toContain('closed');
    await expect(send(stuck)).rejects.toThrow('closed');
  });
});
