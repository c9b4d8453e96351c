import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import {
  type AbortedTransaction,
  type BatchClass,
  committedBatch,
  committedMessages,
  type CreateFetchManager,
  type HeartbeatingGroupClass,
  type JoiningGroupClass,
  type RecoveringGroupClass,
  type TransactionalMessage,
  withFetchersEnded,
  withGrouplessReaders,
  withLeaderMoves,
  withoutGroup,
  withSteadyHeartbeats,
} from './consumer.js';

const require = createRequire(import.meta.url);
const BatchOfKafkajs = require('kafkajs/src/consumer/batch.js') as BatchClass;
const BatchOfOurs = committedBatch(BatchOfKafkajs);

/** What kafkajs asks a batch, beside whether to hand it on. */
const QUESTIONS = [
  ...['isEmptyIncludingFiltered', 'isEmptyDueToLogCompactedMessages'],
  ...['firstOffset', 'lastOffset', 'offsetLag', 'offsetLagLow'],
];

const gaps = fc.array(
  fc.record({
    gap: fc.integer({ min: 1, max: 3 }),
    isControlRecord: fc.boolean(),
    producerId: fc.constantFrom('1', '2'),
    inTransaction: fc.boolean(),
  }),
  { maxLength: 12 },
);
const messages = gaps.map((entries) => {
  let offset = 0;
  return entries.map(({ gap, isControlRecord, producerId, inTransaction }) => {
    offset += gap;
    const key = isControlRecord ? Buffer.alloc(4) : null;
    const batchContext = { producerId, inTransaction };
    return { offset: String(offset), key, isControlRecord, batchContext };
  });
});
function answersOf(batch: object): unknown[] {
  const asked = batch as Record<string, () => unknown>;
  return QUESTIONS.map((question) => [question, asked[question]?.()]);
}

describe('a batch of messages of one fetch', () => {
  it("equals kafkajs's batch if nothing is aborted", () => {
    expect(BatchOfOurs).not.toBe(BatchOfKafkajs);
    const fetchedOffset = fc.nat({ max: 20 }).map(String);
    fc.assert(
      fc.property(fetchedOffset, messages, fc.constantFrom(null, []), (from, given, none) => {
        const data = { partition: 3, highWatermark: '40', messages: given };
        const fetched = { ...data, abortedTransactions: none };
        const [expected, ours] = [BatchOfKafkajs, BatchOfOurs].map(
          (Batch) => new Batch('a-topic', from, fetched),
        );
        expect({ ...ours }).toEqual({ ...expected });
        expect(answersOf(ours!)).toEqual(answersOf(expected!));
        // of a fetch of which nothing is left as well
        expect([ours!.isEmpty(), ours!.isEmptyDueToFiltering()]).toEqual([
          given.length === 0,
          false,
        ]);
      }),
      { numRuns: 300 },
    );
  });

  it('has the first 25,000 messages, and the next fetch the others', () => {
    const offsets = Array.from({ length: 60_000 }, (_, offset) => String(offset));
    const messages = offsets.map((offset) => ({ offset, key: null, isControlRecord: false }));
    const fetched = { partition: 3, highWatermark: '60000', messages };
    const read: string[] = [];
    for (const size of [25_000, 25_000, 10_000]) {
      const batch = new BatchOfOurs('a-topic', String(read.length), fetched);
      expect(batch.messages).toHaveLength(size);
      read.push(...batch.messages.map(({ offset }) => offset));
      expect(answersOf(batch)).toContainEqual(['lastOffset', read.at(-1)]);
    }
    expect(read).toEqual(offsets);
  });
});

interface Logged extends TransactionalMessage {
  position: number;
  isControlRecord: boolean;
}

interface Finished extends AbortedTransaction {
  lastOffset: number;
}

/** A partition's log, by what a broker does with it. */
class Log {
  readonly records: Logged[] = [];
  /** In the order of the ends, as a broker's index is. */
  readonly aborted: Finished[] = [];
  readonly committed = new Set<number>();
  private readonly open = new Map<string, number[]>();

  send(producerId: string, key: Buffer | null): void {
    const offsets = this.open.get(producerId) ?? [];
    this.open.set(producerId, [...offsets, this.append(producerId, key)]);
  }

  /** Of a producer without transactions. */
  sendPlainly(key: Buffer | null): void {
    this.committed.add(this.append('-1', key));
  }

  end(producerId: string, how: 'abort' | 'commit'): void {
    const [first, ...others] = this.open.get(producerId) ?? [];
    if (first === undefined) return;
    const key = Buffer.from([0, 0, 0, how === 'abort' ? 0 : 1]);
    const lastOffset = this.append(producerId, key, true);
    if (how === 'abort') this.aborted.push({ producerId, firstOffset: String(first), lastOffset });
    else for (const offset of [first, ...others]) this.committed.add(offset);
    this.open.delete(producerId);
  }

  /** What a fetch may come up to: before any transaction that is open. */
  get stableEnd(): number {
    return Math.min(this.records.length, ...[...this.open.values()].flat());
  }

  /** The offsets of those in the span that were committed. */
  readable(from: number, until: number): number[] {
    return [...this.committed].filter((it) => it >= from && it < until).sort((a, b) => a - b);
  }

  private append(producerId: string, key: Buffer | null, isControlRecord = false): number {
    const position = this.records.length;
    const batchContext = { producerId, inTransaction: producerId !== '-1' };
    this.records.push({ offset: String(position), position, key, isControlRecord, batchContext });
    return position;
  }
}

/** Among them those of markers, such as a Java client's integer 0. */
const keys = fc.constantFrom(null, Buffer.alloc(4), Buffer.from([0, 0, 0, 1]), Buffer.from('key'));
const step = fc.record({
  what: fc.constantFrom('send', 'send', 'send', 'plain', 'abort', 'abort', 'commit'),
  producerId: fc.constantFrom('1', '2', '3'),
  key: keys,
});
const logs = fc.array(step, { maxLength: 40 }).map((steps) => {
  const log = new Log();
  for (const { what, producerId, key } of steps) {
    if (what === 'send') log.send(producerId, key);
    else if (what === 'plain') log.sendPlainly(key);
    else log.end(producerId, what);
  }
  return log;
});

const messagesOf = (fetched: readonly Logged[], aborted: readonly AbortedTransaction[]): number[] =>
  committedMessages(fetched, aborted)
    .filter(({ isControlRecord }) => !isControlRecord)
    .map(({ position }) => position);

describe('the committed messages of a fetch', () => {
  it('are those committed in the log, wherever the fetch begins and ends', () => {
    fc.assert(
      fc.property(logs, fc.nat({ max: 40 }), fc.nat({ max: 40 }), (log, from, length) => {
        const until = Math.min(log.stableEnd, from + length);
        const fetched = log.records.slice(from, until);
        const aborted = log.aborted.filter(({ lastOffset, firstOffset }) => {
          return lastOffset >= from && Number(firstOffset) < until;
        });
        expect(messagesOf(fetched, aborted)).toEqual(log.readable(from, until));
      }),
      { numRuns: 2000 },
    );
  });

  it('are not changed by other control records', () => {
    const log = new Log();
    for (const key of [null, null, null]) log.send('1', key);
    log.end('1', 'abort');
    const [first, second, ...others] = log.records;
    const endOfBatch = { ...second!, isControlRecord: true };
    expect(messagesOf([first!, endOfBatch, ...others], log.aborted)).toEqual([]);
    const key = Buffer.from([0, 0, 0, 2]);
    expect(messagesOf([first!, { ...endOfBatch, key }, ...others], log.aborted)).toEqual([]);
  });

  it('include all messages of the old formats', () => {
    const old = { offset: '3' };
    expect(committedMessages([old], [{ producerId: '1', firstOffset: '0' }])).toEqual([old]);
  });
});

describe('a reader of a topic with a leaderless partition', () => {
  /** Partition 1 has one again once it is asked so often who leads it. */
  const fetchOf = (assigner: object, ledAfter: number): Promise<unknown> => {
    let asked = 0;
    class Group {
      readonly assigners = [assigner];
      readonly topics = ['t'];
      readonly cluster = {
        findTopicPartitionMetadata: () => [{ leader: 1 }, { leader: asked < ledAfter ? -1 : 2 }],
        refreshMetadataIfNecessary: () => Promise.resolve((asked += 1)),
      };
      fetch(nodeId: string): Promise<string> {
        return Promise.resolve(`of ${nodeId}`);
      }
    }
    const Reader = withGrouplessReaders(Group as unknown as JoiningGroupClass);
    return new Reader({} as never).fetch('1');
  };

  it('fetches nothing without a group until the partition has a leader', async () => {
    const type = 'LEADER_NOT_AVAILABLE';
    await expect(fetchOf(withoutGroup(), 2)).rejects.toMatchObject({ type });
    await expect(fetchOf(withoutGroup(), 1)).resolves.toBe('of 1');
  });

  it('fetches the others as a member of a group', async () => {
    await expect(fetchOf({}, Infinity)).resolves.toBe('of 1');
  });
});

describe('a consumer that fetches from a deleted topic', () => {
  const Group = withLeaderMoves(
    require('kafkajs/src/consumer/consumerGroup.js') as RecoveringGroupClass,
  );
  const recover = Reflect.get(Group.prototype as object, 'recoverFromFetch') as (
    this: object,
    error: Error,
  ) => Promise<void>;
  const goneTopic = (): Error =>
    Object.assign(new Error('gone'), { type: 'UNKNOWN_TOPIC_OR_PARTITION', retriable: true });

  /** How often it joins anew after an error, where metadata is asked for with that result. */
  const recoverWith = async (
    refreshMetadata: () => Promise<void>,
    error: Error = goneTopic(),
  ): Promise<number> => {
    let joined = 0;
    const group = {
      cluster: { refreshMetadata },
      logger: { debug: () => undefined },
      joinAndSync: () => Promise.resolve((joined += 1)),
    };
    await recover.call(group, error);
    return joined;
  };

  it.each([
    ['is still gone', goneTopic()],
    [
      'is gone once its leader has moved',
      Object.assign(new Error(), { type: 'NOT_LEADER_FOR_PARTITION' }),
    ],
  ])('ends where it %s', async (_, error) => {
    const refused = recoverWith(() => Promise.reject(goneTopic()), error);
    await expect(refused).rejects.toMatchObject({
      type: 'UNKNOWN_TOPIC_OR_PARTITION',
      retriable: false,
    });
  });

  it('rejoins if it exists again', async () => {
    await expect(recoverWith(() => Promise.resolve())).resolves.toBe(1);
  });
});

describe('a consumer that is stopped while brokers have become others', () => {
  const create = withFetchersEnded(
    require('kafkajs/src/consumer/fetchManager.js') as CreateFetchManager,
  );
  const logger = { namespace: () => logger, debug: () => undefined, info: () => undefined };

  it('fetches no more once the fetches under way have ended', async () => {
    let nodeIds = [1, 2];
    let isRunning = true;
    let askedInVain = 0;
    const answers = new Map<number, () => void>();
    const options = {
      ...{ logger, getNodeIds: () => nodeIds, handler: () => Promise.resolve() },
      fetch: (nodeId: number): Promise<readonly unknown[]> => {
        if (isRunning) return new Promise((resolve) => answers.set(nodeId, () => resolve([])));
        askedInVain += 1;
        // nothing else would have a turn
        return askedInVain < 100 ? Promise.resolve([]) : Promise.reject(new Error('for ever'));
      },
    };
    const manager = create(options);
    const started = manager.start();
    nodeIds = [1, 3];
    answers.get(1)!();
    await new Promise(setImmediate);
    isRunning = false;
    const stopped = manager.stop();
    answers.get(2)!();
    await Promise.all([started, stopped]);
    expect(askedInVain).toBe(0);
  });
});

describe('a member of a group whose clock is set', () => {
  const Group = withSteadyHeartbeats(
    require('kafkajs/src/consumer/consumerGroup.js') as HeartbeatingGroupClass,
  );

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each([
    [-3_600_000, [0, 0, 0, 1, 1, 1, 2]],
    [0, [0, 0, 0, 1, 1, 1, 2]],
    // A host that was suspended: the monotonic clock stood still.
    [3_600_000, [1, 1, 1, 2, 2, 2, 3]],
  ])('sends heartbeats in time after a step of %i ms', async (shiftMs, expected) => {
    let [wallMs, monotonicMs, sent] = [1_763_680_000_000, 1000, 0];
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
    const options = { logger: { namespace: () => ({}) }, cluster: {}, topics: [], assigners: [] };
    const group = new Group(options as never);
    const coordinator = { heartbeat: () => Promise.resolve((sent += 1)) };
    const instrumentationEmitter = { emit: () => undefined };
    Object.assign(group, { memberId: 'a', coordinator, instrumentationEmitter });
    wallMs += shiftMs;
    const sentAfter: number[] = [];
    for (let seconds = 0; seconds < 7; seconds += 1) {
      await group.heartbeat({ interval: 3000 });
      sentAfter.push(sent);
      wallMs += 1000;
      monotonicMs += 1000;
    }
    expect(sentAfter).toEqual(expected);
  });
});
