import { randomBytes } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { loadKafkaSettings } from '#libs/config';
import { createKafka, ensureTopics, Outbox } from '#libs/messaging';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';

const problemOf = (outbox: Outbox): string | undefined =>
  outbox.health().find(({ problem }) => problem !== undefined)?.problem;

describe('the outbox', () => {
  const prefix = uniqueTopicPrefix();
  const client = createKafka(loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') }));
  const kafka = new TestKafka(testBrokers(), prefix);
  const outbox = new Outbox(client);
  const topic = `${prefix}out`;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    const limited = { name: topic, cleanupPolicy: 'delete' as const, maxMessageBytes: 100_000 };
    const letters = { ...limited, name: `${prefix}in.dlq` };
    await ensureTopics(client, [limited, letters], { create: true, partitions: 1 });
  });

  afterAll(async () => {
    await outbox.close();
    await kafka.close();
  });

  const record = (key: string, value: Buffer | string) => ({ topic, key, value, headers: {} });

  it('sends the others when one among them is too large, in order, and tells that one', async () => {
    const sends = [
      outbox.send(record('a', '1')),
      outbox.send(record('b', randomBytes(200_000))),
      outbox.send(record('c', '3')),
    ];
    const results = await Promise.allSettled(sends);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'too-large' } });
    const reader = await kafka.read('out');
    const records = await reader.take(2, () => true, 'record');
    expect(records.map(({ key }) => key?.toString())).toEqual(['a', 'c']);
  });

  it('compresses what is only too large uncompressed', async () => {
    await outbox.send(record('d', Buffer.alloc(200_000)));
    const reader = await kafka.read('out');
    const large = await reader.find(({ key }) => key?.toString() === 'd', 'the large record');
    expect(large.value).toHaveLength(200_000);
  });

  it('compresses at once what the broker would close the connection for', async () => {
    const huge = Buffer.alloc(32_000_000);
    await outbox.send(record('e', huge));
    const reader = await kafka.read('out');
    const large = await reader.find(({ key }) => key?.toString() === 'e', 'the huge record');
    expect(large.value?.equals(huge)).toBe(true);
  });

  it('never sends what no request could hold, and goes on with the others', async () => {
    const sends = [
      outbox.send(record('f', Buffer.alloc(120_000_000))),
      outbox.send(record('g', 'small')),
    ];
    const [first, second] = await Promise.allSettled(sends);
    expect(first).toMatchObject({ reason: { code: 'beyond-bound' } });
    expect(second).toMatchObject({ status: 'fulfilled' });
  });

  it('tells at once what cannot be encoded, and goes on', async () => {
    const headers = { bad: null as unknown as string };
    await expect(outbox.send({ topic, key: 'e', value: '', headers })).rejects.toMatchObject({
      code: 'unencodable',
    });
    await outbox.send(record('f', 'after'));
    expect(problemOf(outbox)).toBeUndefined();
  });

  it('sends a record with its own time, and tells at once when the topic takes none of it', async () => {
    const timestamp = '1763680000123';
    const own = { 'cleanup.policy': 'delete', 'message.timestamp.before.max.ms': '60000' };
    await kafka.topics.createCompacted('recent', own);
    const recent = { ...record('old', '1'), topic: `${prefix}recent`, timestamp };
    const sends = [
      outbox.send({ ...record('timed', '1'), timestamp }),
      outbox.send(record('untimed', '2')),
      outbox.send(recent),
    ];
    const results = await Promise.allSettled(sends);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(results[2]).toMatchObject({ reason: { code: 'ill-dated' } });
    const reader = await kafka.read('out');
    const old = await reader.find(({ key }) => key?.toString() === 'timed', 'the old record');
    const young = await reader.find(({ key }) => key?.toString() === 'untimed', 'the young record');
    expect(old.timestamp).toBe(timestamp);
    expect(Number(young.timestamp)).toBeGreaterThan(Number(timestamp));
  });

  it('writes once what its partition takes, though another partition refuses what came with it', async () => {
    await kafka.topics.create(2, 'shared');
    await kafka.topics.configure('shared', { 'max.message.bytes': '100000' });
    const shared = (key: string, partition: number, value: Buffer | string) => ({
      ...{ ...record(key, value), topic: `${prefix}shared`, partition },
    });
    const sends = [
      outbox.send(shared('a', 0, 'small')),
      outbox.send(shared('b', 1, 'small')),
      outbox.send(shared('c', 0, randomBytes(200_000))),
      outbox.send(shared('d', 0, 'small')),
    ];
    const results = await Promise.allSettled(sends);
    expect(results.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    ]);
    const reader = await kafka.read('shared');
    await reader.take(3, () => true, 'record');
    expect(await kafka.topics.count('shared')).toBe(3);
    const ofFirst = reader.records.filter(({ partition }) => partition === 0);
    expect(ofFirst.map(({ key }) => key?.toString())).toEqual(['a', 'd']);
  });

  it('goes on with other topics while one is gone, and then writes what waited in its order', async () => {
    const own = new Outbox(client);
    await kafka.topics.create(1, 'gone');
    const lost = (key: string) => ({ ...record(key, ''), topic: `${prefix}gone` });
    await own.send(lost('before'));
    await kafka.topics.delete('gone');
    const sends = ['a', 'b', 'c'].map((key) => own.send(lost(key)));
    await own.send(record('meanwhile', ''));
    sends.push(own.send(lost('d')));
    const problem = await eventually(() => problemOf(own), { what: 'the problem is told' });
    expect(problem).toContain(`${prefix}gone`);
    expect(problem).not.toContain(topic);
    expect(own.health()).toMatchObject([{ topic: `${prefix}gone` }, { topic, problem: undefined }]);
    await own.send(record('still', ''));
    await kafka.topics.create(1, 'gone');
    await Promise.all(sends);
    const reader = await kafka.read('gone');
    const records = await reader.take(4, () => true, 'record');
    expect(records.map(({ key }) => key?.toString())).toEqual(['a', 'b', 'c', 'd']);
    expect(problemOf(own)).toBeUndefined();
    await own.close();
  });

  it('says so, and keeps the record, while Kafka takes nothing', async () => {
    const nowhere = createKafka(loadKafkaSettings({ KAFKA_BROKERS: '127.0.0.1:1' }));
    const stuck = new Outbox(nowhere);
    const sent = stuck.send(record('h', ''));
    const reported = sent.catch((error: unknown) => String(error));
    const problem = await eventually(() => problemOf(stuck), { what: 'the problem is told' });
    expect(problem).toContain(topic);
    await stuck.close();
    expect(await reported).toContain('closed');
  });

  it('does not wait for anything once it is closed', async () => {
    const closed = new Outbox(client);
    await closed.close();
    await expect(closed.send(record('g', ''))).rejects.toThrow('closed');
  });
});
