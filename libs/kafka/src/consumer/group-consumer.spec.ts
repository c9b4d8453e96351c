import fc from 'fast-check';
import { AssignerProtocol, type Cluster } from '#libs/kafkajs-patches';
import { coPartitionedAssigner, guardBrokers } from './group-consumer.js';
import { UnreadableTopics } from './unreadable-topics.js';

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
    joinGroup: (asked: { memberId: string; onMemberId?: (memberId: string) => void }) => {
      if (asked.memberId === '') asked.onMemberId?.('new');
      return Promise.resolve();
    },
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
      joinsAs: (memberId) => log.push(`joins as ${memberId}`),
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

  it('reports as which member a consumer asks to join', async () => {
    const found = await cluster.findBroker();
    await found.joinGroup({ memberId: '' });
    await found.joinGroup({ memberId: 'A' });
    expect(log).toEqual(['joins as new', 'joins as A']);
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
