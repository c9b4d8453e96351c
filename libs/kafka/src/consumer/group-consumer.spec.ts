import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { AssignerProtocol, type Cluster } from '#libs/kafkajs-patches';
import { coPartitionedAssigner, guardBrokers, UnreadableTopics } from './group-consumer.js';

/** The part of kafkajs's cluster that the assigner uses; like that, it knows only added topics. */
function clusterOf(partitions: Readonly<Record<string, number>>, known: string[] = []) {
  const targets = new Set(known);
  const cluster = {
    addMultipleTargetTopics: (topics: string[]) => {
      for (const topic of topics) targets.add(topic);
      return Promise.resolve();
    },
    findTopicPartitionMetadata: (topic: string) => {
      if (!targets.has(topic)) throw new Error(`${topic} is no target topic`);
      return Array.from({ length: partitions[topic] ?? 0 }, (_, partitionId) => ({ partitionId }));
    },
  };
  return cluster as unknown as Cluster;
}

type Assignments = Record<string, Record<string, number[]>>;

const assignerOf = (cluster: Cluster, beforeJoin: () => void = () => undefined) =>
  coPartitionedAssigner(beforeJoin)({ cluster, groupId: 'group', logger: undefined as never });

async function assign(
  partitions: Readonly<Record<string, number>>,
  subscriptions: Readonly<Record<string, string[]>>,
): Promise<Assignments> {
  const assigner = assignerOf(clusterOf(partitions));
  const members = Object.entries(subscriptions).map(([memberId, topics]) => ({
    memberId,
    memberMetadata: assigner.protocol({ topics }).metadata,
  }));
  const assigned = await assigner.assign({ members, topics: [] });
  return Object.fromEntries(
    assigned.map(({ memberId, memberAssignment }) => [
      memberId,
      { ...AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment },
    ]),
  );
}

const partitions = { lists: 6, reasons: 6, states: 4 };
const subscriptions = fc.dictionary(
  fc.constantFrom('m1', 'm2', 'm3', 'm4', 'm5'),
  fc.subarray(Object.keys(partitions)),
  { minKeys: 1, noNullPrototype: true },
);

describe('coPartitionedAssigner', () => {
  it('assigns each partition of a topic to exactly one of its subscribers', async () => {
    await fc.assert(
      fc.asyncProperty(subscriptions, async (asked) => {
        const assigned = await assign(partitions, asked);
        expect(Object.keys(assigned).sort()).toEqual(Object.keys(asked).sort());
        for (const [topic, count] of Object.entries(partitions)) {
          const owned = Object.entries(assigned).flatMap(([memberId, topics]) => {
            const own = topics[topic] ?? [];
            if (own.length > 0) expect(asked[memberId]).toContain(topic);
            return own;
          });
          const isWanted = Object.values(asked).some((topics) => topics.includes(topic));
          const all = Array.from({ length: count }, (_, partition) => partition);
          expect(owned.sort((a, b) => a - b)).toEqual(isWanted ? all : []);
        }
      }),
    );
  });

  it('keeps partition p of all topics in one process, and distributes partitions evenly', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8 }), async (count) => {
        const names = Array.from({ length: count }, (_, index) => `member-${index}`);
        const topics = ['lists', 'reasons'];
        const assigned = await assign(
          partitions,
          Object.fromEntries(names.map((n) => [n, topics])),
        );
        const shares = Object.values(assigned).map(({ lists, reasons }) => {
          expect(lists).toEqual(reasons);
          return lists?.length ?? 0;
        });
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('does not depend on the order of members', async () => {
    const topics = ['lists', 'states'];
    const forwards = await assign(partitions, { a: topics, b: topics, c: ['lists'] });
    const backwards = await assign(partitions, { c: ['lists'], b: topics, a: topics });
    expect(forwards).toEqual(backwards);
    expect(forwards).toEqual({
      a: { lists: [0, 3], states: [0, 2] },
      b: { lists: [1, 4], states: [1, 3] },
      c: { lists: [2, 5] },
    });
  });

  it('calls the hook before a join, and not before an assignment', async () => {
    const notYet = new Error('calls are still in flight');
    const obstacles: (Error | undefined)[] = [notYet, undefined];
    const assigner = assignerOf(clusterOf(partitions), () => {
      const obstacle = obstacles.shift();
      if (obstacle !== undefined) throw obstacle;
    });
    expect(() => assigner.protocol({ topics: ['lists'] })).toThrow(notYet);
    const { metadata } = assigner.protocol({ topics: ['lists'] });
    obstacles.push(notYet);
    await assigner.assign({ members: [{ memberId: 'a', memberMetadata: metadata }], topics: [] });
    expect(obstacles).toEqual([notYet]);
  });
});

describe('guardBrokers', () => {
  let log: string[];
  let cluster: { findBroker: () => Promise<typeof coordinator> };
  const coordinator = {
    leaveGroup: ({ memberId }: { memberId: string }) =>
      Promise.resolve(log.push(`${memberId} leaves`)),
    syncGroup: (asked: { generationId: number }) =>
      Promise.resolve(log.push(`asks for ${asked.generationId}`)),
    fetch: () => {
      const ends = { partition: 3, highWatermark: '9', lastStableOffset: '5' };
      return Promise.resolve({ responses: [{ topicName: 'lists', partitions: [ends] }] });
    },
  };

  beforeEach(async () => {
    log = [];
    const found = { ...coordinator };
    cluster = { findBroker: () => Promise.resolve(found) };
    guardBrokers(cluster as unknown as Cluster, {
      unreadable: new UnreadableTopics(),
      endsFetched: (topic, { partition, highWatermark }) =>
        log.push(`${topic}/${partition} ends at ${highWatermark}`),
      beforeLeave: () => {
        log.push('drains');
        return Promise.resolve();
      },
      beforeSync: (generation) => log.push(`joined ${generation}`),
    });
    // kafkajs looks up the coordinator before each join, and gets the same one.
    await cluster.findBroker();
  });

  it('keeps a consumer from leaving the group until calls have drained, once each time', async () => {
    const found = await cluster.findBroker();
    await found.leaveGroup({ memberId: 'A' });
    expect(log).toEqual(['drains', 'A leaves']);
  });

  it('reports the generation in which a member asks for its partitions', async () => {
    const found = await cluster.findBroker();
    await found.syncGroup({ generationId: 7 });
    expect(log).toEqual(['joined 7', 'asks for 7']);
  });

  it('reports the ends of partitions, also of empty fetches', async () => {
    const found = await cluster.findBroker();
    await (found.fetch as (request: object) => Promise<unknown>)({
      maxWaitTime: 0,
      topics: [{ topic: 'lists', partitions: [{ partition: 3 }] }],
    });
    expect(log).toEqual(['lists/3 ends at 9']);
  });
});

describe('UnreadableTopics', () => {
  const FORBIDDEN = 'forbidden';
  let nowMs = 0;

  it('are left out of fetches except once every five seconds, and named while they are requested', async () => {
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const unreadable = new UnreadableTopics();
    const type = 'TOPIC_AUTHORIZATION_FAILED';
    const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
    /** Returns the topics of each request to the broker, and of its answer. */
    const fetched = async (...names: string[]): Promise<string[][]> => {
      const asked: string[][] = [];
      const { responses } = await unreadable.fetchReadable(
        ({ topics }) => {
          asked.push(topics.map(({ topic }) => topic));
          const isRefused = topics.some(({ topic }) => topic === FORBIDDEN);
          const responses = topics.map(({ topic }) => ({ topicName: topic, partitions: [] }));
          return isRefused ? Promise.reject(refusal) : Promise.resolve({ responses });
        },
        {
          maxWaitTime: 0,
          topics: names.map((topic) => ({ topic, partitions: [{ partition: 0 }] })),
        },
      );
      return [...asked, responses.map(({ topicName }) => topicName)];
    };
    expect(await fetched('a', FORBIDDEN)).toEqual([['a', FORBIDDEN], ['a'], [FORBIDDEN], ['a']]);
    expect(await fetched('a', FORBIDDEN)).toEqual([['a'], ['a']]);
    expect(await fetched(FORBIDDEN)).toEqual([[]]);
    nowMs += 5000;
    expect(await fetched(FORBIDDEN)).toEqual([[FORBIDDEN], []]);
    nowMs += 9000;
    expect(unreadable.readProblem).toContain(`Read or Describe on ${FORBIDDEN}`);
    nowMs += 1000;
    expect(unreadable.readProblem).toBeUndefined();
  });

  it.each(['CORRUPT_MESSAGE', 'KAFKA_STORAGE_ERROR', 'UNKNOWN'])(
    'are single partitions where their broker answers %s for these, and asked for behind all others',
    async (type) => {
      jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
      const unreadable = new UnreadableTopics();
      const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
      let isDamaged = true;
      /** Returns the partitions of each request that the broker has answered. */
      const fetched = async (): Promise<string[]> => {
        const answered: string[] = [];
        const partitions = [{ partition: 0 }, { partition: 1 }];
        await unreadable.fetchReadable(
          ({ topics }) => {
            const names = topics.flatMap(({ topic, partitions: asked }) =>
              asked.map(({ partition }) => `${topic}/${partition}`),
            );
            if (isDamaged && names.includes('a/1')) return Promise.reject(refusal);
            answered.push(names.join());
            const responses = topics.map((of) => ({
              topicName: of.topic,
              partitions: of.partitions.map((each) => ({
                ...{ ...each, highWatermark: '9', lastStableOffset: '9' },
              })),
            }));
            return Promise.resolve({ responses });
          },
          {
            maxWaitTime: 0,
            topics: [
              { topic: 'a', partitions },
              { topic: 'b', partitions },
            ],
          },
        );
        return answered;
      };
      expect(await fetched()).toEqual(['a/0', 'b/0,b/1']);
      expect(await fetched()).toEqual(['a/0,b/0,b/1']);
      nowMs += 5000;
      expect(await fetched()).toEqual(['a/0,b/0,b/1']);
      expect(unreadable.readProblem).toContain('a/1 cannot be read');
      isDamaged = false;
      expect(await fetched()).toEqual(['a/0,b/0,b/1']);
      nowMs += 5000;
      expect(await fetched()).toEqual(['a/0,b/0,b/1', 'a/1']);
      expect(unreadable.readProblem).toBeUndefined();
      expect(await fetched()).toEqual(['a/0,a/1,b/0,b/1']);
    },
  );

  it('remain unreadable while their broker does not answer about them', async () => {
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const unreadable = new UnreadableTopics();
    const type = 'KAFKA_STORAGE_ERROR';
    const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
    const request = { maxWaitTime: 0, topics: [{ topic: 'a', partitions: [{ partition: 1 }] }] };
    await unreadable.fetchReadable(() => Promise.reject(refusal), request);
    let asked = 0;
    const heldBack = (): Promise<{ responses: [] }> => {
      asked += 1;
      return Promise.resolve({ responses: [] });
    };
    nowMs += 5000;
    for (let time = 0; time < 3; time += 1) await unreadable.fetchReadable(heldBack, request);
    expect(asked).toBe(1);
    expect(unreadable.readProblem).toContain('a/1 cannot be read');
  });

  it('are logged once, and again after another process has owned them for a while', async () => {
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const log = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const unreadable = new UnreadableTopics();
    const type = 'CORRUPT_MESSAGE';
    const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
    const request = { maxWaitTime: 0, topics: [{ topic: 'a', partitions: [{ partition: 1 }] }] };
    const fetchAfter = async (ms: number): Promise<void> => {
      nowMs += ms;
      await unreadable.fetchReadable(() => Promise.reject(refusal), request);
    };
    await fetchAfter(0);
    await fetchAfter(5000);
    await fetchAfter(5000);
    expect(log).toHaveBeenCalledTimes(1);
    expect(log).toHaveBeenCalledWith(
      expect.objectContaining({ msg: 'topic not read', topic: 'a', partition: 1 }),
    );
    await fetchAfter(10_000);
    expect(log).toHaveBeenCalledTimes(2);
  });
});
