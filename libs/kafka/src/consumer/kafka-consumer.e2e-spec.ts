import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { type Admin, Kafka, logLevel } from '#libs/kafkajs-patches';
import { ensureTopics } from '../client/ensure-topics.js';
import { sendWithStock, stockKafka, testBrokers } from '../testing/stock-client.js';
import type { InboundMessage } from './inbound-message.js';
import { KafkaConsumer, KafkaConsumerStrategy } from './kafka-consumer.js';
import { TestCalls } from './testing/test-calls.js';
import { eventually } from './testing/wait.js';

const INPUT = 'input';
/** More than are handed over at once. */
const MESSAGES = 100;

/** A process of a group, whose messages need no call. */
class Member {
  readonly calls = new TestCalls();
  readonly handed: InboundMessage[] = [];
  readonly strategy: KafkaConsumerStrategy;

  constructor(kafka: Kafka, topicPrefix: string, onHanded: () => Promise<void>) {
    this.strategy = new KafkaConsumerStrategy({
      ...{ kafka, groupId: topicPrefix, topicPrefix, calls: this.calls, stateTopics: [] },
      giveUp: (message) => {
        message.finish();
      },
      commitIntervalMs: 100,
      prepare: () => Promise.resolve(),
    });
    const handle = (messages: readonly InboundMessage[]): Promise<void> => {
      this.handed.push(...messages);
      return onHanded();
    };
    this.strategy.addHandler(
      INPUT,
      handle as Parameters<KafkaConsumerStrategy['addHandler']>[1],
      true,
    );
    this.strategy.listen(() => undefined);
  }
}

describe('KafkaConsumerStrategy', () => {
  let kafka: Kafka;
  let admin: Admin;
  let topicPrefix: string;
  const members: Member[] = [];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    kafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
    topicPrefix = `test-${randomUUID().slice(0, 8)}.`;
    const topics = [{ name: `${topicPrefix}${INPUT}`, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    admin = stockKafka.admin();
    await admin.connect();
  });

  afterAll(async () => {
    for (const { calls } of members) calls.cutOff(new Error('the test is over'));
    await Promise.all(members.map(({ strategy }) => strategy.close()));
    await admin.disconnect();
  });

  const committed = async (): Promise<number> => {
    const topics = [`${topicPrefix}${INPUT}`];
    const [offsets] = await admin.fetchOffsets({ groupId: topicPrefix, topics });
    return Number(offsets?.partitions[0]?.offset);
  };

  const untilGroupHas = async (count: number): Promise<void> => {
    await eventually(async () => {
      const [group] = (await admin.describeGroups([topicPrefix])).groups;
      return group?.state === 'Stable' && group.members.length === count;
    }, `${count} share the group`);
  };

  const produce = (count: number): Promise<void> => {
    const messages = Array.from({ length: count }, () => ({ value: 'x' }));
    return sendWithStock(`${topicPrefix}${INPUT}`, ...messages);
  };

  it('hands nothing over as another process still has calls in flight, and goes on once these have ended', async () => {
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
    const join = (): void => {
      members.push(new Member(kafka, topicPrefix, () => onHanded()));
    };
    join();
    join();
    await untilGroupHas(2);
    await produce(1);
    await eventually(async () => (await committed()) === 1, 'the first is committed');

    let goOn: () => void = () => undefined;
    onHanded = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    await produce(MESSAGES);
    await eventually(() => members.some(({ handed }) => handed.length > 0), 'one has messages');
    const [owner, other] = members[0]?.handed.length === 0 ? members.reverse() : members;
    expect(owner!.handed.length).toBeLessThan(MESSAGES);
    await other!.calls.begin();
    join();
    await eventually(async () => {
      const [group] = (await admin.describeGroups([topicPrefix])).groups;
      return group?.state === 'PreparingRebalance';
    }, 'partitions are to be shared out anew');
    // the owner hears of it by its heartbeat
    await eventually(() => owner!.calls.arePaused, 'the owner has drained');
    onHanded = finishAll;
    await finishAll();
    goOn();
    // What is asked of Kafka takes longer than what would come about by itself.
    for (let times = 0; times < 3; times += 1) await committed();
    expect(finished.length).toBeLessThan(MESSAGES);
    expect(owner!.handed).toEqual([]);

    other!.calls.end();
    await eventually(async () => (await committed()) > MESSAGES, 'all is committed');
    expect(new Set(finished).size).toBe(MESSAGES + 1);
  });
});

describe('KafkaConsumer', () => {
  it('gives a message up that cannot be handled, and commits behind it, where there is no dead letter', async () => {
    Logger.overrideLogger(false);
    const kafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
    const topicPrefix = `test-${randomUUID().slice(0, 8)}.`;
    const name = `${topicPrefix}${INPUT}`;
    const topics = [{ name, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    const givenUp: number[] = [];
    const handled: string[] = [];
    const consumer = new KafkaConsumer(
      {
        ...{ kafka, groupId: topicPrefix, topicPrefix, calls: new TestCalls(), stateTopics: [] },
        giveUp: (message) => {
          givenUp.push(message.offset);
          message.finish();
        },
        ...{ commitIntervalMs: 100, prepare: () => Promise.resolve() },
      },
      async (messages) => {
        await Promise.resolve();
        for (const message of messages) {
          const text = String(message.value);
          handled.push(text);
          if (text === 'bad') throw new Error('a bug');
          message.finish();
        }
      },
    );
    const admin = stockKafka.admin();
    await admin.connect();
    try {
      await sendWithStock(name, { value: 'bad' }, { value: 'good' });
      await consumer.start([INPUT]);
      await eventually(async () => {
        const [offsets] = await admin.fetchOffsets({ groupId: topicPrefix, topics: [name] });
        return Number(offsets?.partitions[0]?.offset) === 2;
      }, 'both are committed');
    } finally {
      await consumer.close();
      await admin.disconnect();
    }
    expect(givenUp).toEqual([0]);
    expect(handled.filter((text) => text === 'bad')).toHaveLength(3);
    expect(handled).toContain('good');
  });
});
