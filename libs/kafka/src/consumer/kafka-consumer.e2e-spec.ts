import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { CallSlots } from '#libs/delivery';
import { Kafka, logLevel, type Message, type Transaction } from '#libs/kafkajs-patches';
import { ensureTopics } from '../client/ensure-topics.js';
import type { InputState } from '../keyed-state/keyed-state-partition.js';
import { KeyedState } from '../keyed-state/keyed-state-topic.js';
import { sendWithStock, stockKafka, testBrokers } from '../testing/stock-client.js';
import { eventually } from '../testing/wait.js';
import { groupOffsets } from './group-offsets.js';
import type { InboundMessage, MessageHandler } from './inbound-message.js';
import { type KafkaConsumer, KafkaConsumerStrategy } from './kafka-consumer.js';

const INPUT = 'input';
/** Inside kafkajs: the request that fences. */
interface BrokerClass {
  prototype: { initProducerId: (request: { transactionalId?: string }) => Promise<unknown> };
}
const Broker = createRequire(import.meta.url)('kafkajs/src/broker/index.js') as BrokerClass;

/** More than one chunk. */
const MESSAGES = 100;

describe('KafkaConsumer', () => {
  const kafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
  const admin = stockKafka.admin();
  const closers: (() => Promise<void>)[] = [];
  let topicPrefix: string;
  let topic: string;
  let givenUp: number[];

  beforeAll(() => admin.connect());

  beforeEach(async () => {
    topicPrefix = `test-${randomUUID().slice(0, 8)}.`;
    topic = `${topicPrefix}${INPUT}`;
    givenUp = [];
    const topics = [{ name: topic, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
  });

  afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

  afterAll(() => admin.disconnect());

  /** A process of the group. */
  const join = (
    handle: MessageHandler,
    calls = new CallSlots(1),
    stateTopics: readonly KeyedState<number>[] = [],
  ): KafkaConsumer => {
    const strategy = new KafkaConsumerStrategy({
      ...{ kafka, groupId: topicPrefix, topicPrefix, calls, stateTopics },
      giveUp: (message) => {
        givenUp.push(message.offset);
        message.finish();
      },
      commitIntervalMs: 100,
      prepare: () => Promise.resolve(),
    });
    strategy.addHandler(INPUT, handle as Parameters<KafkaConsumerStrategy['addHandler']>[1], true);
    closers.unshift(() => strategy.close());
    strategy.listen(() => undefined);
    return strategy.consumer;
  };

  const committed = async (): Promise<number> => {
    const [offsets] = await admin.fetchOffsets({ groupId: topicPrefix, topics: [topic] });
    return Number(offsets?.partitions[0]?.offset);
  };

  const untilGroup = (isSo: (state: string, members: number) => boolean, what: string) =>
    eventually(what, async () => {
      const [group] = (await admin.describeGroups([topicPrefix])).groups;
      return group !== undefined && isSo(group.state, group.members.length);
    });

  it('hands nothing over while another process has calls in flight, and goes on once these have ended', async () => {
    const members: { calls: CallSlots; handed: InboundMessage[] }[] = [];
    const finished: number[] = [];
    const finishAll = (): Promise<void> => {
      for (const { handed } of members) {
        for (const message of handed.splice(0)) {
          finished.push(message.offset);
          message.finish();
        }
      }
      return Promise.resolve();
    };
    let onHanded = finishAll;
    const joinGroup = (): void => {
      const member = { calls: new CallSlots(1), handed: [] as InboundMessage[] };
      members.push(member);
      join((messages) => {
        member.handed.push(...messages);
        return onHanded();
      }, member.calls);
    };
    const produce = (count: number): Promise<void> =>
      sendWithStock(topic, ...Array.from({ length: count }, () => ({ value: 'x' })));
    joinGroup();
    joinGroup();
    await untilGroup((state, count) => state === 'Stable' && count === 2, 'two share the group');
    await produce(1);
    await eventually('the first is committed', async () => (await committed()) === 1);

    let goOn: () => void = () => undefined;
    onHanded = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    await produce(MESSAGES);
    await eventually('one has messages', () => members.some(({ handed }) => handed.length > 0));
    const [owner, other] = members[0]?.handed.length === 0 ? members.reverse() : members;
    expect(owner!.handed.length).toBeLessThan(MESSAGES);
    expect(other!.calls.tryAcquire()).toBe(true);
    joinGroup();
    await untilGroup((state) => state === 'PreparingRebalance', 'partitions are shared out anew');
    // The owner learns of it by its heartbeat.
    await eventually('the owner has drained', () => owner!.calls.permit.objection() !== undefined);
    onHanded = finishAll;
    await finishAll();
    goOn();
    // Requests to Kafka take longer than a hand-over would.
    for (let times = 0; times < 3; times += 1) await committed();
    expect(finished.length).toBeLessThan(MESSAGES);
    expect(owner!.handed).toEqual([]);

    other!.calls.release();
    await eventually('all is committed', async () => (await committed()) > MESSAGES);
    expect(new Set(finished).size).toBe(MESSAGES + 1);
  });

  it('gives up a message that cannot be handled, and commits beyond it without a dead letter', async () => {
    const handled: string[] = [];
    await sendWithStock(topic, { value: 'bad' }, { value: 'good' });
    join(async (messages) => {
      await Promise.resolve();
      for (const message of messages) {
        const text = String(message.value);
        handled.push(text);
        if (text === 'bad') throw new Error('a bug');
        message.finish();
      }
    });
    await eventually('both are committed', async () => (await committed()) === 2);
    expect(givenUp).toEqual([0]);
    expect(handled.filter((text) => text === 'bad')).toHaveLength(3);
    expect(handled).toContain('good');
  });

  it('restores state once earlier owners of its input, which may still write to it, are fenced', async () => {
    const owned = new Map<string, InputState<number>>();
    const [name, ofNoInput] = [`${topicPrefix}state`, `${topicPrefix}of-no-input`];
    const stateTopics = [name, ofNoInput].map(
      (each) =>
        new KeyedState<number>({
          ...{ kafka, name: each, inputs: each === name ? [topic] : [] },
          groupId: topicPrefix,
          parse: Number,
          onOwned: (state) => void owned.set(each, state),
        }),
    );
    const topics = [name, ofNoInput].map((each) => {
      return { name: each, cleanupPolicy: 'compact' as const };
    });
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    const transactionalId = `${topicPrefix}-${topic}-0`;
    const before = stockKafka.producer({
      ...{ transactionalId, idempotent: true, maxInFlightRequests: 1 },
    });
    closers.push(() => before.disconnect());
    await before.connect();
    const transaction = await before.transaction();

    let fence: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (fence = resolve));
    const { initProducerId } = Broker.prototype;
    Broker.prototype.initProducerId = async function (request) {
      if (request.transactionalId === transactionalId) await held;
      return initProducerId.call(this, request);
    };
    try {
      join(() => Promise.resolve(), new CallSlots(1), stateTopics);
      await eventually('other state is restored', () => owned.has(ofNoInput));
      await transaction.send({ topic: name, messages: [{ key: 'M-1', value: '1' }] });
      await transaction.commit();
      fence();
      await eventually('its state is restored', () => owned.has(name));
      expect(owned.get(name)?.get('M-1')).toBe(1);
    } finally {
      fence();
      Broker.prototype.initProducerId = initProducerId;
    }
  });

  it('reports that a needed topic is missing, not that Kafka is unavailable', async () => {
    const name = `${topicPrefix}state`;
    const state = new KeyedState<number>({
      ...{ kafka, name, inputs: [], groupId: topicPrefix, parse: Number },
      onOwned: () => undefined,
    });
    const consumer = join(() => Promise.resolve(), new CallSlots(1), [state]);
    await eventually('it names the topic', () => consumer.outage?.includes(name) === true);
    expect(consumer.outage).toMatch(/^nothing is consumed, trying again: cannot join: /);
  });

  describe('where Kafka has deleted what was not read', () => {
    let errors: unknown[];

    beforeEach(() => {
      errors = [];
      jest.spyOn(Logger.prototype, 'error').mockImplementation((line) => void errors.push(line));
    });

    it('continues after deleted messages and logs the loss, without handing over finished ones', async () => {
      const handed: string[] = [];
      const finish: MessageHandler = (messages) => {
        for (const message of messages) {
          const value = String(message.value);
          handed.push(value);
          if (value !== 'stuck 1') message.finish();
        }
        return Promise.resolve();
      };
      const before = join(finish);
      await sendWithStock(
        topic,
        { value: '0' },
        { value: 'stuck 1' },
        { value: '2' },
        { value: '3' },
      );
      await eventually('the first is committed', async () => (await committed()) === 1);
      await eventually('all are handed over', () => handed.length === 4);
      await before.closeConsumer();
      const partitions = [{ partition: 0, offset: '3' }];
      await admin.deleteTopicRecords({ topic, partitions });

      const after = join(finish);
      await sendWithStock(topic, { value: '4' });
      await eventually('the new one is committed', async () => (await committed()) === 5);
      expect(handed).toEqual(['0', 'stuck 1', '2', '3', '4']);
      const lost = { msg: 'messages lost: deleted before they were read', topic, partition: 0 };
      expect(errors).toEqual([{ ...lost, offset: 1, until: 3 }]);
      expect(before.inputs.lost).toEqual(new Map([[topic, 0]]));
      expect(after.inputs.lost).toEqual(new Map([[topic, 2]]));
    });
  });

  describe('of input that is written in transactions', () => {
    /** Opens a transaction of its own producer. */
    const begin = async (): Promise<Transaction> => {
      const transactionalId = `${topicPrefix}${randomUUID()}`;
      const producer = stockKafka.producer({
        ...{ transactionalId, idempotent: true, maxInFlightRequests: 1 },
      });
      closers.push(() => producer.disconnect());
      await producer.connect();
      return producer.transaction();
    };

    const send = async (to: Transaction, ...messages: Message[]): Promise<void> => {
      await to.send({ topic, messages });
    };

    /** Finishes each message at once. */
    const joinAndFinish = (): { consumer: KafkaConsumer; handed: string[] } => {
      const handed: string[] = [];
      const consumer = join((messages) => {
        for (const message of messages) {
          handed.push(String(message.value));
          message.finish();
        }
        return Promise.resolve();
      });
      return { consumer, handed };
    };

    it.each([
      ['at the beginning', 0],
      ['in the middle of those that are aborted later', 2],
    ])('hands on as much as was committed, read from %s', async (_, offset) => {
      const [first, second, third] = [await begin(), await begin(), await begin()];
      // The key is that of an abort marker.
      await send(first, { key: Buffer.alloc(4), value: 'aborted 0' });
      await send(second, { value: 'aborted 1' });
      await send(third, { value: 'committed 2' });
      await send(second, { value: 'aborted 3' });
      await second.abort();
      await send(first, { key: Buffer.alloc(4), value: 'aborted 5' }, { value: 'aborted 6' });
      await first.abort();
      await send(third, { value: 'committed 8' });
      await third.commit();
      const partitions = [{ partition: 0, offset: String(offset) }];
      await admin.setOffsets({ groupId: topicPrefix, topic, partitions });

      const { handed } = joinAndFinish();
      await eventually('the last is handed over', () => handed.includes('committed 8'));
      expect(handed).toEqual(['committed 2', 'committed 8']);
    });

    it('counts messages behind an open transaction, also if nothing was read before', async () => {
      const open = await begin();
      await send(open, { value: 'open 0' });
      await sendWithStock(topic, { value: 'behind 1' }, { value: 'behind 2' });
      const { consumer, handed } = joinAndFinish();
      await eventually('all three lag', async () => {
        const [backlog] = await consumer.measureBacklog();
        return backlog?.lag === 3;
      });
      expect(await groupOffsets(kafka, topicPrefix, [topic])).toMatchObject([{ end: 3 }]);
      expect(handed).toEqual([]);
      await open.abort();
      await eventually('what was behind is handed over', () => handed.length === 2);
    });

    it('commits and counts up to its end, past the markers there', async () => {
      const { consumer, handed } = joinAndFinish();
      const isAt = (end: number): Promise<void> =>
        eventually(`offset ${end} is committed and nothing lags`, async () => {
          const [ends] = await admin.fetchTopicOffsets(topic);
          const [backlog] = await consumer.measureBacklog();
          const offsets = [Number(ends?.high), await committed(), backlog?.lag];
          return offsets.join() === `${end},${end},0`;
        });
      const aborted = await begin();
      await send(aborted, { value: 'aborted 0' });
      await aborted.abort();
      await isAt(2);
      const transaction = await begin();
      await send(transaction, { value: 'committed 2' }, { value: 'committed 3' });
      await transaction.commit();
      await isAt(5);
      expect(handed).toEqual(['committed 2', 'committed 3']);
    });
  });
});
