import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { loadKafkaSettings } from '#libs/config';
import { CallSlots } from '#libs/delivery';
import {
  createKafka,
  ensureTopics,
  KafkaConsumerStrategy,
  KeyedState,
  type TransactedState,
  partitionOf,
  readSpans,
  topicSpans,
} from '#libs/kafka';
import { eventually } from '../support/eventually.js';
import { offsetsAsForeigner } from '../support/foreign-client.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import type { Message } from '../support/stock-kafkajs.js';
import { header } from '../support/topic-reader.js';

interface Counted {
  count: number;
}

/** The minimum of Kafka. */
const SEGMENT_BYTES = 1024 * 1024;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

function countOfA(count: number, filling: unknown = ''): Message {
  return { key: 'a', value: JSON.stringify({ count, filling }) };
}

/** A process's share of keyed state, without the rest of the bridge. */
class Member {
  readonly owned = new Map<number, TransactedState<Counted>>();
  readonly strategy: KafkaConsumerStrategy;

  /** @param isHashed whether a key's hash decides on its partition */
  constructor(prefix: string, topic: string, partitions = 2, isHashed = false) {
    const kafka = createKafka(
      loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(','), KAFKA_TOPIC_PREFIX: prefix }),
    );
    const state = new KeyedState<Counted>({
      kafka,
      name: topic,
      ...(isHashed && { placement: { topic } }),
      groupId: `${prefix}group`,
      parse: (value) => value as Counted,
      onOwned: (owned) => {
        this.owned.set(owned.partition, owned);
        owned.signal.addEventListener('abort', () => this.owned.delete(owned.partition));
      },
    });
    this.strategy = new KafkaConsumerStrategy({
      kafka,
      groupId: `${prefix}group`,
      topicPrefix: prefix,
      giveUp: () => {
        throw new Error('nothing is given up here');
      },
      commitIntervalMs: 100,
      stateTopics: [state],
      // Nothing here calls the service.
      calls: new CallSlots(1),
      prepare: () =>
        ensureTopics(
          kafka,
          [
            { name: topic, cleanupPolicy: 'compact' },
            { name: `${prefix}events`, cleanupPolicy: 'delete' },
          ],
          { create: true, partitions },
        ),
    });
  }

  listen(): void {
    this.strategy.listen(() => undefined);
  }

  async ownedPartition(partition: number): Promise<TransactedState<Counted>> {
    return eventually(`partition ${partition} is owned`, () => this.owned.get(partition));
  }

  async owns(partitions: number[]): Promise<void> {
    const wanted = partitions.join();
    await eventually(
      `partitions ${wanted} are owned and restored`,
      () => [...this.owned.keys()].sort().join() === wanted,
    );
  }
}

describe('keyed state', () => {
  const prefix = uniqueTopicPrefix();
  const topic = `${prefix}machine-bridge.counts.v1`;
  const kafka = new TestKafka(testBrokers(), prefix);
  const members: Member[] = [];

  const join = (): Member => {
    const member = new Member(prefix, topic);
    members.push(member);
    member.listen();
    return member;
  };

  afterAll(async () => {
    await Promise.all(members.map(({ strategy }) => strategy.close()));
    await kafka.close();
  });

  it('is empty at first, survives processes, and is distributed by partition', async () => {
    const first = join();
    await first.owns([0, 1]);
    const zero = await first.ownedPartition(0);
    expect([...zero.entries()]).toEqual([]);
    const event = {
      topic: `${prefix}events`,
      key: 'a',
      value: '"a is 1"',
      headers: { ce_type: 't' },
    };
    await zero.commit(
      [
        ['a', { count: 1 }],
        ['b', { count: 7 }],
      ],
      [event],
    );
    await zero.commit(
      [
        ['a', { count: 2 }],
        ['b', null],
      ],
      [],
    );
    await (await first.ownedPartition(1)).commit([['c', { count: 3 }]], []);
    expect(zero.get('a')).toEqual({ count: 2 });

    const reader = await kafka.read('events');
    const record = await reader.find('the event', ({ key }) => key?.toString() === 'a');
    expect(header(record, 'ce_type')).toBe('t');

    const second = join();
    await eventually(
      'each member owns one partition',
      () => first.owned.size === 1 && second.owned.size === 1,
    );
    const kept = [...first.owned.values()].map(({ lost }) => lost);
    await first.strategy.close();
    expect(kept.map(({ aborted }) => aborted)).toEqual([true]);
    await second.owns([0, 1]);
    expect([...(await second.ownedPartition(0)).entries()]).toEqual([['a', { count: 2 }]]);
    expect((await second.ownedPartition(1)).get('c')).toEqual({ count: 3 });
  });

  it('revokes the partition of a fenced writer, and restarts from the committed state', async () => {
    const [owner] = members.slice(-1);
    const before = await owner!.ownedPartition(0);
    // A paused and expired owner meets another process with the same transactional id.
    const intruder = createKafka(
      loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') }),
    ).producer({
      transactionalId: `${prefix}group-${topic}-0`,
      idempotent: true,
      maxInFlightRequests: 1,
    });
    await intruder.connect();
    await (await intruder.transaction()).abort();
    await intruder.disconnect();
    await expect(before.commit([['a', { count: 99 }]], [])).rejects.toThrow();
    expect(before.signal.aborted).toBe(true);
    expect(before.lost.aborted).toBe(false);
    const after = await eventually('the partition is owned anew', () => {
      const state = owner!.owned.get(0);
      return state !== before && state;
    });
    expect(after.get('a')).toEqual({ count: 2 });
    await after.commit([['a', { count: 3 }]], []);
    expect(after.get('a')).toEqual({ count: 3 });
  });

  it('is acquired again after a value that cannot be written', async () => {
    const [owner] = members.slice(-1);
    const before = await owner!.ownedPartition(0);
    const unwritable = { count: 1n } as unknown as Counted;
    await expect(before.commit([['a', unwritable]], [])).rejects.toThrow(TypeError);
    expect(before.signal.aborted).toBe(true);
    const after = await eventually('it is owned', () => owner!.owned.get(0) ?? false);
    expect(after.get('a')).toEqual({ count: 3 });
  });

  it('reports why a write fails, and is written after the repair', async () => {
    const refusing = new TestKafka(testBrokers(), uniqueTopicPrefix());
    const [counts, events] = ['counts', 'events'].map((name) => `${refusing.topicPrefix}${name}`);
    const member = new Member(refusing.topicPrefix, counts!, 1);
    members.push(member);
    member.listen();
    await member.ownedPartition(0);
    const write = async (): Promise<boolean> => {
      const state = await member.ownedPartition(0);
      const event = { topic: events!, key: 'a', value: 'x'.repeat(1000), headers: {} };
      return state.commit([['a', { count: 1 }]], [event]).then(
        () => true,
        () => false,
      );
    };

    await refusing.topics.allowBatchesOf('events', 100);
    const problem = await eventually(
      'the problem is reported',
      async () => !(await write()) && member.strategy.consumer.stateProblem,
    );
    expect(problem).toContain(`${counts}, partition 0: larger than max.message.bytes`);
    expect(problem).toContain(events);

    await refusing.topics.allowBatchesOf('events', 1_000_000);
    await eventually('it is written', write);
    expect(member.strategy.consumer.stateProblem).toBeUndefined();
    const state = await member.ownedPartition(0);
    expect([...state.entries()]).toEqual([['a', { count: 1 }]]);
    await refusing.close();
  });

  it('is reported as lost if its topic comes back with an older part of it', async () => {
    const restored = new TestKafka(testBrokers(), uniqueTopicPrefix());
    const name = 'machine-bridge.counts.v1';
    const fullName = `${restored.topicPrefix}${name}`;
    const errors = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const member = new Member(restored.topicPrefix, fullName, 1);
    members.push(member);
    member.listen();
    for (const count of [1, 2, 3])
      await (await member.ownedPartition(0)).commit([['a', { count }]], []);
    const losses = () => member.strategy.consumer.stateLosses.get(fullName);
    expect(losses()).toBe(0);
    await restored.topics.deleteTopic(name);
    await restored.topics.createCompacted(name, {});
    const producer = await restored.steadyProducer();
    await producer.send({ topic: fullName, messages: [countOfA(1)] });
    await eventually('it is written again', async () =>
      (await member.ownedPartition(0)).commit([['b', { count: 1 }]], []).then(
        () => true,
        () => false,
      ),
    );
    expect(losses()).toBe(1);
    expect(errors.mock.calls.flat()).toContainEqual(
      expect.objectContaining({
        msg: expect.stringContaining('state lost') as string,
        ...{ topic: fullName, partition: 0 },
      }),
    );
    await restored.close();
  });

  describe('with keys distributed by their hash', () => {
    const hashed = new TestKafka(testBrokers(), uniqueTopicPrefix());
    const name = 'machine-bridge.counts.v1';
    const keys = numbers(20).map((number) => `key-${number}`);
    let member: Member;

    const start = (): void => {
      member = new Member(hashed.topicPrefix, `${hashed.topicPrefix}${name}`, 2, true);
      members.push(member);
      member.listen();
    };

    const isOf = ({ partition, partitions = 0 }: TransactedState<Counted>, key: string): boolean =>
      partitionOf(key, partitions) === partition;

    const ownKeys = (): string[] =>
      [...member.owned.values()].flatMap((state) => {
        const kept = [...state.keys()];
        expect(kept.filter((key) => !isOf(state, key))).toEqual([]);
        return kept;
      });

    afterAll(() => hashed.close());

    it('moves each key to its partition when there are more partitions', async () => {
      start();
      await member.owns([0, 1]);
      for (const state of member.owned.values()) {
        const ours = keys.filter((key) => isOf(state, key));
        await state.commit(
          ours.map((key) => [key, { count: 1 }]),
          [],
        );
      }
      await hashed.topics.growToPartitions(name, 5);
      await member.owns([0, 1, 2, 3, 4]);
      await eventually(
        'all keys are owned',
        () => member.owned.size === 5 && ownKeys().length === keys.length,
      );
      expect(ownKeys().sort()).toEqual([...keys].sort());
    });

    it('is owned at once when the topic has been emptied', async () => {
      await member.strategy.close();
      // as if it had been created with a retention
      await hashed.topics.configure(name, { 'cleanup.policy': 'delete' });
      // the broker refuses until it applies the new policy
      await eventually('it is emptied', () => hashed.topics.deleteRecords(name).then(() => true));
      start();
      await member.owns([0, 1, 2, 3, 4]);
      expect(ownKeys()).toEqual([]);
    });
  });

  describe('with batches whose end or whole content compaction has removed', () => {
    const compacted = new TestKafka(testBrokers(), uniqueTopicPrefix());
    const name = 'machine-bridge.counts.v1';
    const fullName = `${compacted.topicPrefix}${name}`;
    // Created before the first fetch of this process, as in the bridge: later changes to kafkajs have no effect.
    const client = createKafka(loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') }));

    beforeAll(async () => {
      await compacted.topics.createCompacted(name, {
        'segment.bytes': String(SEGMENT_BYTES),
        'min.cleanable.dirty.ratio': '0.001',
      });
      const send = async (...messages: Message[]): Promise<void> => {
        const producer = await compacted.steadyProducer();
        await producer.send({ topic: fullName, messages });
      };
      // Kafka keeps the last batch of each producer, even if it is empty. Here its beginning is left,
      await send({ key: 'kept', value: '{"count":7}' }, ...numbers(50).map(countOfA));
      // and here nothing: each fills its own segment, and the latest segment is never compacted.
      for (const count of numbers(5)) await send(countOfA(count, 'x'.repeat(SEGMENT_BYTES - 400)));
      await eventually(
        'the topic begins with batches whose end is missing',
        async () => (await offsetsAsForeigner(testBrokers(), fullName, 3)).join() === '0,54,55',
      );
    });

    afterAll(() => compacted.close());

    it('can be read from one end to the other', async () => {
      const offsets: number[] = [];
      await readSpans(client, await topicSpans(client, fullName), {
        signal: new AbortController().signal,
        onRecords: (records) => {
          offsets.push(...records.map(({ offset }) => offset));
        },
      });
      expect(offsets).toEqual([0, 54, 55]);
    });

    it('is restored', async () => {
      const member = new Member(compacted.topicPrefix, fullName, 1);
      members.push(member);
      member.listen();
      await member.owns([0]);
      const state = await member.ownedPartition(0);
      expect([...state.entries()]).toMatchObject([
        ['kept', { count: 7 }],
        ['a', { count: 4 }],
      ]);
    });
  });
});
