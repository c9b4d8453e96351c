import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { realDelayMs, realEpochMs, realNowMs } from '#libs/clock';
import { readEnvironment } from '#libs/config';
import { CallSlots } from '#libs/delivery';
import { ensureTopics } from '../client/ensure-topics.js';
import { type Admin, Kafka, logLevel } from '../kafkajs.js';
import { AT_REST, readNote, type ToldUntil } from './commit-note.js';
import { type InboundMessage } from './inbound-message.js';
import { KafkaInboxStrategy } from './kafka-inbox.strategy.js';
import { type Statement } from './telling.js';

const INPUT = 'input';
/** More than are handed over at once. */
const MESSAGES = 100;

async function eventually(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const giveUpMs = realNowMs() + 40_000;
  while (!(await isSo())) {
    if (realNowMs() > giveUpMs) throw new Error(`it did not come about that ${what}`);
    await realDelayMs(10);
  }
}

/** A process of a group, whose messages need no call. */
class Member {
  readonly calls = new CallSlots(1);
  readonly handed: InboundMessage[] = [];
  readonly inbox: KafkaInboxStrategy;

  constructor(kafka: Kafka, topicPrefix: string, onHanded: () => Promise<void>) {
    this.inbox = new KafkaInboxStrategy({
      ...{ kafka, groupId: topicPrefix, topicPrefix, calls: this.calls, stateTopics: [] },
      deadLetters: { publish: () => Promise.resolve() },
      outbox: {
        idle: () => Promise.resolve(),
        get toldUntilMs() {
          return realEpochMs();
        },
      },
      prepare: () => Promise.resolve(),
    });
    const handle = (messages: readonly InboundMessage[]): Promise<void> => {
      this.handed.push(...messages);
      return onHanded();
    };
    this.inbox.addHandler(INPUT, handle as Parameters<KafkaInboxStrategy['addHandler']>[1], true);
    this.inbox.listen(() => undefined);
  }

  /** A call that goes on until it is given back. */
  async call(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.calls.ask(resolve);
    });
  }
}

describe('KafkaInboxStrategy', () => {
  let kafka: Kafka;
  let admin: Admin;
  let topicPrefix: string;
  const members: Member[] = [];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    const brokers = (readEnvironment()['KAFKA_BROKERS'] ?? '').split(',');
    kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING });
    topicPrefix = `test-${randomUUID().slice(0, 8)}.`;
    const topics = [{ name: `${topicPrefix}${INPUT}`, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    admin = kafka.admin();
    await admin.connect();
  });

  afterAll(async () => {
    for (const { calls } of members) calls.cutOff(new Error('the test is over'));
    await Promise.all(members.map(({ inbox }) => inbox.close()));
    await admin.disconnect();
  });

  /** What the last commit says of what is told. */
  const noted = async (): Promise<ToldUntil | undefined> => {
    const topics = [`${topicPrefix}${INPUT}`];
    const [offsets] = await admin.fetchOffsets({ groupId: topicPrefix, topics });
    return readNote(0, offsets?.partitions[0]?.metadata ?? null).toldUntil;
  };

  const untilGroupHas = async (count: number): Promise<void> => {
    await eventually(async () => {
      const [group] = (await admin.describeGroups([topicPrefix])).groups;
      return group?.state === 'Stable' && group.members.length === count;
    }, `${count} share the group`);
  };

  const produce = async (count: number): Promise<void> => {
    const producer = kafka.producer();
    await producer.connect();
    const messages = Array.from({ length: count }, () => ({ value: 'x' }));
    await producer.send({ topic: `${topicPrefix}${INPUT}`, messages });
    await producer.disconnect();
  };

  it('hands nothing over and tells nothing while its commit says so, as another process still has calls in flight', async () => {
    const told: { offset: number; noted: ToldUntil | undefined }[] = [];
    const tell = (message: InboundMessage): void => {
      const { offset } = message;
      const { telling } = message.ownership;
      const statement: Statement = {
        tell: () => {
          void noted().then((note) => {
            told.push({ offset, noted: note });
            message.finish();
            telling.ended(statement);
          });
        },
        giveUp: () => {
          message.abandon();
        },
      };
      telling.begin(statement);
    };
    const tellAll = (): Promise<void> => {
      for (const { handed } of members) for (const message of handed.splice(0)) tell(message);
      return Promise.resolve();
    };
    let onHanded = tellAll;
    const join = (): void => {
      members.push(new Member(kafka, topicPrefix, () => onHanded()));
    };
    join();
    join();
    await untilGroupHas(2);
    await produce(1);
    await eventually(() => told.length === 1, 'the first is told');

    let goOn: () => void = () => undefined;
    onHanded = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    await produce(MESSAGES);
    await eventually(() => members.some(({ handed }) => handed.length > 0), 'one has messages');
    const [owner, other] = members[0]?.handed.length === 0 ? members.reverse() : members;
    expect(owner!.handed.length).toBeLessThan(MESSAGES);
    await other!.call();
    join();
    await eventually(
      async () => (await noted()) === AT_REST,
      'the commit says that all is at rest',
    );
    onHanded = tellAll;
    await tellAll();
    goOn();
    // What is asked of Kafka takes longer than what would come about by itself.
    for (let times = 0; times < 3; times += 1) expect(await noted()).toBe(AT_REST);
    expect(told).toHaveLength(1);
    expect(owner!.handed).toEqual([]);

    other!.calls.release();
    await eventually(() => told.length > MESSAGES, 'all is told');
    expect(told.filter((it) => it.noted === AT_REST)).toEqual([]);
    expect(told.map(({ offset }) => offset).sort((a, b) => a - b)).toEqual(
      Array.from({ length: MESSAGES + 1 }, (_, offset) => offset),
    );
  });
});
