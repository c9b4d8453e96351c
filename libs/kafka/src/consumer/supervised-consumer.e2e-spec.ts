import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { realDelayMs, realNowMs } from '#libs/clock';
import { type Batch, Kafka, logLevel } from '#libs/kafkajs-patches';
import { ensureTopics } from '../client/ensure-topics.js';
import { sendWithStock, stockKafka, testBrokers } from '../testing/stock-client.js';
import { eventually } from '../testing/wait.js';
import { SESSION_TIMEOUT_MS } from './group-consumer.js';
import { SupervisedConsumer } from './supervised-consumer.js';

/** Inside kafkajs: to replace a broker's answers by those of a coordinator that moves. */
interface BrokerClass {
  prototype: {
    heartbeat: (request: { groupId: string; memberId: string }) => Promise<unknown>;
    joinGroup: (request: { groupId: string }) => Promise<unknown>;
    offsetCommit: (request: { groupId: string }) => Promise<unknown>;
    syncGroup: (request: {
      groupId: string;
      memberId: string;
      groupAssignment: readonly object[];
    }) => Promise<unknown>;
    fetch: (request: { topics: readonly { topic: string }[] }) => Promise<unknown>;
  };
}
const require = createRequire(import.meta.url);
const Broker = require('kafkajs/src/broker/index.js') as BrokerClass;
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};
const NOT_LEADER = 6;
const NOT_COORDINATOR = 16;
const COORDINATOR_LOADING = 14;
const UNKNOWN_MEMBER = 25;

/** A process of a group, with the events that it receives. */
class Member {
  readonly log: string[] = [];
  readonly consumer: SupervisedConsumer;

  constructor(
    kafka: Kafka,
    topic: string,
    group: {
      log: string[];
      name: string;
      drain?: (deadlineMs: number) => Promise<void>;
      onBatch?: (batch: Batch) => void;
      others?: readonly string[];
      needed?: readonly string[];
    },
  ) {
    const note = (event: string): void => {
      this.log.push(event);
      group.log.push(`${group.name} ${event}`);
    };
    this.consumer = new SupervisedConsumer(kafka, topic, {
      onBatch: (batch) => group.onBatch?.(batch),
      onAssigned: (assignment) => note(`owns ${[...assignment.values()].flat().sort().join(',')}`),
      onRevoking: async (deadlineMs) => {
        note('drains');
        await group.drain?.(deadlineMs);
        note('has drained');
      },
      onMembershipConfirmed: () => undefined,
      onEnds: () => undefined,
    });
    this.consumer.start([topic, ...(group.others ?? [])], group.needed);
  }

  async untilOwns(partitions: string): Promise<void> {
    await eventually(
      `it owns ${partitions}, of ${this.log.join('; ')}`,
      () => this.log.at(-1) === `owns ${partitions}`,
    );
  }
}

describe('SupervisedConsumer', () => {
  const kafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
  const { fetch, heartbeat, joinGroup, offsetCommit, syncGroup } = Broker.prototype;
  const members: Member[] = [];
  /** Unanswered heartbeats: a replaced consumer waits for them before it disconnects. */
  const unanswered: ((error: Error) => void)[] = [];
  const noAnswer = (): Promise<never> => new Promise((_, reject) => unanswered.push(reject));
  const answerAll = (): void => {
    for (const reject of unanswered.splice(0)) reject(createErrorFromCode(UNKNOWN_MEMBER));
  };
  let topic: string;
  let log: string[];

  const join = (
    name: string,
    more: {
      drain?: (deadlineMs: number) => Promise<void>;
      onBatch?: (batch: Batch) => void;
      kafka?: Kafka;
      others?: readonly string[];
      needed?: readonly string[];
    } = {},
  ) => {
    const member = new Member(more.kafka ?? kafka, topic, { log, name, ...more });
    members.push(member);
    return member;
  };

  beforeEach(async () => {
    topic = `test-${randomUUID().slice(0, 8)}.members`;
    log = [];
    const topics = [{ name: topic, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 2 });
  });

  afterEach(async () => {
    answerAll();
    Object.assign(Broker.prototype, { fetch, heartbeat, joinGroup, offsetCommit, syncGroup });
    await Promise.all(members.splice(0).map(({ consumer }) => consumer.stop()));
  });

  const membersOfGroup = async (): Promise<number> => {
    const admin = stockKafka.admin();
    await admin.connect();
    const { groups } = await admin.describeGroups([topic]);
    await admin.disconnect();
    return groups[0]?.members.length ?? 0;
  };

  it('keeps its partitions when it rejoins its generation, as when the coordinator has moved', async () => {
    let followerId = '';
    Broker.prototype.syncGroup = function (request) {
      if (request.groupId === topic && request.groupAssignment.length === 0)
        followerId = request.memberId;
      return syncGroup.call(this, request);
    };
    // ids of members begin with those of their clients
    const joinAs = (clientId: string) =>
      join(clientId, {
        kafka: new Kafka({ brokers: testBrokers, clientId, logLevel: logLevel.NOTHING }),
      });
    const both = [joinAs('A')];
    await both[0]!.untilOwns('0,1');
    both.push(joinAs('B'));
    await eventually('each owns one', () =>
      both.every((member) => /^owns [01]$/.test(member.log.at(-1)!)),
    );
    const follower = both[followerId.startsWith('A') ? 0 : 1]!;
    const owned = follower.log.at(-1);
    let eventsBefore = Infinity;
    Broker.prototype.heartbeat = function (request) {
      const isNext = eventsBefore === Infinity && request.memberId === followerId;
      if (!isNext) return heartbeat.call(this, request);
      eventsBefore = follower.log.length;
      return Promise.reject(createErrorFromCode(NOT_COORDINATOR));
    };
    const assignment = (): string | undefined =>
      follower.log.slice(eventsBefore).find((event) => event.startsWith('owns'));
    await eventually('it is assigned partitions again', () => assignment() !== undefined);
    expect(assignment()).toBe(owned);
  });

  it('is replaced when kafkajs has given up a join and goes on fetching, as calls would stay paused', async () => {
    const member = join('A');
    await member.untilOwns('0,1');
    let hasMoved = true;
    let isLoading = false;
    Broker.prototype.heartbeat = function (request) {
      if (!hasMoved || request.groupId !== topic) return heartbeat.call(this, request);
      hasMoved = false;
      isLoading = true;
      return Promise.reject(createErrorFromCode(NOT_COORDINATOR));
    };
    Broker.prototype.joinGroup = function (request) {
      if (!isLoading || request.groupId !== topic) return joinGroup.call(this, request);
      isLoading = false;
      return Promise.reject(createErrorFromCode(COORDINATOR_LOADING));
    };
    await eventually('it lets go of what it had', () => member.log.includes('owns '));
    await member.untilOwns('0,1');
    expect(member.consumer.state).toBe('running');
  });

  it('goes on after a leader has moved, without rejoining or ending calls', async () => {
    let refusals = 0;
    Broker.prototype.fetch = function (request) {
      const isIts = request.topics.some((it) => it.topic === topic);
      if (!isIts || refusals === 0) return fetch.call(this, request);
      refusals -= 1;
      return Promise.reject(createErrorFromCode(NOT_LEADER));
    };
    let fetches = 0;
    const member = join('A', {
      onBatch: () => {
        fetches += 1;
      },
    });
    await member.untilOwns('0,1');
    const eventsBefore = member.log.length;
    refusals = 3;
    await eventually('three fetches have been refused', () => refusals === 0);
    await sendWithStock(topic, { partition: 0, value: 'x' });
    await eventually('what is written is fetched', () => fetches === 1);
    expect(member.log.at(-1)).toBe('owns 0,1');
    expect(member.log).toHaveLength(eventsBefore);
  });

  it('opens its partitions as new when the same member has missed a generation', async () => {
    let goOn: () => void = () => undefined;
    let isToBeHeld = false;
    let isHeld = false;
    const joinedAs = new Set<string>();
    Broker.prototype.syncGroup = async function (request) {
      if (request.groupId === topic && request.memberId.startsWith('held')) {
        joinedAs.add(request.memberId);
        if (isToBeHeld) {
          [isToBeHeld, isHeld] = [false, true];
          await new Promise<void>((resolve) => (goOn = resolve));
        }
      }
      return syncGroup.call(this, request);
    };
    const first = join('A');
    await first.untilOwns('0,1');
    const held = join('B', {
      kafka: new Kafka({ brokers: testBrokers, clientId: 'held', logLevel: logLevel.NOTHING }),
    });
    await eventually('they share', () => /^owns [01]$/.test(held.log.at(-1) ?? ''));
    const before = held.log.length;
    const ownedBefore = held.log.at(-1)!;
    isToBeHeld = true;
    const third = join('C');
    await eventually(
      'the others work in a generation that the held one does not know of',
      () => isHeld && third.log.filter((event) => event.startsWith('owns')).length === 2,
    );
    await third.consumer.stop();
    goOn();
    await held.untilOwns(ownedBefore.slice('owns '.length));
    expect(joinedAs.size).toBe(1);
    expect(held.log.slice(before).filter((event) => event.startsWith('owns'))).toEqual([
      'owns ',
      ownedBefore,
    ]);
  });

  it('leaves joining to its successor once it is replaced, although its coordinator tells it to join', async () => {
    let isSilent = false;
    let end: () => void = () => undefined;
    const member = join('A', {
      drain: () => (isSilent ? new Promise<void>((resolve) => (end = resolve)) : Promise.resolve()),
    });
    await member.untilOwns('0,1');
    isSilent = true;
    Broker.prototype.heartbeat = function (request) {
      if (!isSilent || request.groupId !== topic) return heartbeat.call(this, request);
      return noAnswer();
    };
    let joins = 0;
    Broker.prototype.joinGroup = function (request) {
      if (request.groupId === topic) joins += 1;
      return joinGroup.call(this, request);
    };
    await eventually('it is given up', () => member.log.at(-1) === 'drains');
    isSilent = false;
    answerAll();
    end();
    await member.untilOwns('');
    await member.untilOwns('0,1');
    expect(joins).toBe(1);
  });

  it('drains before it leaves the group because it has crashed', async () => {
    let isPoisoned = false;
    let end: () => void = () => undefined;
    const first = join('A', {
      onBatch: () => {
        if (isPoisoned) throw new TypeError('as an unknown codec would');
      },
      drain: () =>
        isPoisoned ? new Promise<void>((resolve) => (end = resolve)) : Promise.resolve(),
    });
    await first.untilOwns('0,1');
    const second = join('B');
    await eventually('they share the partitions', () =>
      /^owns [01]$/.test(second.log.at(-1) ?? ''),
    );
    isPoisoned = true;
    await sendWithStock(topic, { partition: 0, value: 'x' }, { partition: 1, value: 'x' });
    await eventually('the first has crashed', () => first.log.at(-1) === 'drains');
    expect(await membersOfGroup()).toBe(2);
    isPoisoned = false;
    end();
    await eventually('the first is out', () => first.log.includes('owns '));
    const drained = log.lastIndexOf('A has drained', log.lastIndexOf('A owns '));
    const taken = log.indexOf('B owns 0,1');
    expect(taken === -1 || taken > drained).toBe(true);
  });

  it.each([
    ['that came just now', 0],
    ['that has been missing for six seconds', 6000],
  ])(
    'waits in a crash for calls for five seconds, and no longer than the session lasts: after a heartbeat %s',
    async (_, silenceMs) => {
      const deadlines: number[] = [];
      const mostLeftMs = SESSION_TIMEOUT_MS - silenceMs;
      let isPoisoned = false;
      let silentSinceMs = Infinity;
      const member = join('A', {
        onBatch: () => {
          if (isPoisoned) throw new TypeError('as an unknown codec would');
        },
        drain: (deadlineMs) => {
          if (isPoisoned) deadlines.push(deadlineMs);
          return Promise.resolve();
        },
      });
      await member.untilOwns('0,1');
      if (silenceMs > 0) {
        Broker.prototype.heartbeat = function (request) {
          if (request.groupId !== topic) return heartbeat.call(this, request);
          silentSinceMs = Math.min(silentSinceMs, realNowMs());
          return noAnswer();
        };
        await eventually(
          'heartbeats have been missing for long enough',
          () => realNowMs() - silentSinceMs > silenceMs,
        );
      }
      isPoisoned = true;
      await sendWithStock(topic, { partition: 0, value: 'x' });
      await eventually('it has crashed', () => deadlines.length > 0);
      expect(deadlines[0]).toBeLessThanOrEqual(Math.min(5000, mostLeftMs));
    },
  );

  it('hands on no batch that was fetched before a seek', async () => {
    const messages = [0, 1].map((partition) => ({ partition, value: 'x' }));
    await sendWithStock(topic, ...messages);
    const handedOn: string[] = [];
    const member = join('A', {
      onBatch: (batch) => {
        const { partition } = batch;
        // the other partition's message has come with the same answer
        if (handedOn.length === 0) member.consumer.seek(topic, 1 - partition, 0);
        handedOn.push(...batch.messages.map(({ offset }) => `${partition}/${offset}`));
      },
    });
    await eventually('both are handed on', () => handedOn.length > 1);
    await sendWithStock(topic, ...messages);
    const isThere = (message: string): boolean => handedOn.includes(message);
    await eventually('what follows is handed on', () => isThere('0/1') && isThere('1/1'));
    expect([...handedOn].sort()).toEqual(['0/0', '0/1', '1/0', '1/1']);
  });

  it('stays a member while a broker delays fetches, and hands on their records', async () => {
    Broker.prototype.fetch = async function (request) {
      const fetched = await fetch.call(this, request);
      if (request.topics.some((each) => each.topic === topic))
        await realDelayMs(SESSION_TIMEOUT_MS + 2000);
      return fetched;
    };
    const handedOn: string[] = [];
    const member = join('A', {
      onBatch: ({ messages }) => handedOn.push(...messages.map(({ offset }) => offset)),
    });
    await member.untilOwns('0,1');
    const before = [...member.log];
    await sendWithStock(topic, { partition: 0, value: 'x' });
    await eventually('the message is handed on', () => handedOn.length > 0);
    expect(handedOn).toEqual(['0']);
    expect(member.log).toEqual(before);
  });

  describe('when a topic is deleted', () => {
    let deleted: string;
    const create = () =>
      ensureTopics(kafka, [{ name: deleted, cleanupPolicy: 'delete' }], {
        create: true,
        partitions: 1,
      });
    const remove = async (name = deleted): Promise<void> => {
      const admin = stockKafka.admin();
      await admin.connect();
      await admin.deleteTopics({ topics: [name] });
      await admin.disconnect();
    };

    beforeEach(async () => {
      deleted = `${topic}.deleted`;
      await create();
    });

    it('goes on without it, names it, and reads it once it exists again', async () => {
      const handedOn: string[] = [];
      const member = join('A', {
        others: [deleted],
        onBatch: ({ topic, messages }) => handedOn.push(...messages.map(() => topic)),
      });
      await member.untilOwns('0,0,1');
      await remove();
      await member.untilOwns('0,1');
      expect(member.consumer.unreadable.readProblem).toContain(deleted);
      await sendWithStock(topic, { partition: 0, value: 'x' });
      await eventually('the other topic is read', () => handedOn.includes(topic));

      await create();
      await member.untilOwns('0,0,1');
      expect(member.consumer.unreadable.readProblem).toBeUndefined();
      await sendWithStock(deleted, { partition: 0, value: 'x' });
      await eventually('it is read', () => handedOn.includes(deleted));
    });

    it('goes on without it even if it was the only input', async () => {
      const member = join('A', { needed: [deleted] });
      await member.untilOwns('0,0,1');
      await remove(topic);
      await member.untilOwns('0');
      expect(member.consumer.unreadable.readProblem).toContain(topic);
    });

    it('waits for a needed topic, and names it', async () => {
      const member = join('A', { needed: [deleted] });
      await member.untilOwns('0,0,1');
      await remove();
      const { consumer } = member;
      await eventually(
        'it names the topic',
        () => consumer.state === 'broken' && consumer.endedBecause?.includes(deleted) === true,
      );
      await create();
      await member.untilOwns('0,0,1');
    });
  });
});
