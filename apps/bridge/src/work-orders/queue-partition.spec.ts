import { jest } from '@jest/globals';
import { type OutboundRecord, type OwnedState } from '#libs/messaging';
import { hasOwnKey } from './assignments/assignment-change.js';
import { type StoredAssignment } from './assignments/derive-assignments.js';
import { type ChangeEntry, PartitionAssignments } from './assignments/partition-assignments.js';
import { QueuePartition } from './queue-partition.js';
import { messageAt } from './testing/message-at.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Longer than a tombstone waits for company. */
const A_WHILE_MS = 1000;

/** A change as it was written: under a key of its own, or as earlier versions did, the machine's. */
function changeAt(offset: number, key = `M-1/0/${offset}/0a1b2c3d`): ChangeEntry {
  const message = messageAt(offset, { topic: 'changes', key: Buffer.from(key) });
  const source = { topic: 'orders', partition: 0, offset, messageId: null };
  return { message, position: offset, change: { machineId: 'M-1', orders: [], source } };
}

function finish({ message }: ChangeEntry): void {
  message.onFinished?.(message);
}

describe('a partition of a queue', () => {
  let partition: QueuePartition<StoredAssignment, ChangeEntry>;
  /** The tombstones of each transaction. */
  let written: string[][];
  let failing: boolean;

  const own = (lost: AbortSignal = new AbortController().signal): void => {
    const state: OwnedState<StoredAssignment> = {
      ...{ partition: 4, signal: new AbortController().signal, lost },
      get: () => undefined,
      keys: () => new Map().keys() as IterableIterator<string>,
      entries: () => new Map().entries() as IterableIterator<[string, StoredAssignment]>,
      commit: (_changes, records) => {
        if (failing) return Promise.reject(new Error('not known to be committed'));
        written.push(records.map(named));
        return Promise.resolve();
      },
    };
    partition.own(state);
  };

  const named = (record: OutboundRecord): string => {
    const { topic, partition: number, key, value } = record;
    expect(value).toBeNull();
    return `${topic}/${number}: ${String(key)}`;
  };

  const take = async (...entries: ChangeEntry[]): Promise<void> => {
    partition.take(entries);
    await nextTurn();
  };

  const pass = async (ms: number): Promise<void> => {
    jest.advanceTimersByTime(ms);
    await nextTurn();
  };

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    [written, failing] = [[], false];
    const assignments = new PartitionAssignments(() => undefined);
    const work = {
      restored: (state: OwnedState<StoredAssignment>) => {
        assignments.restored(state);
      },
      derive: (state: OwnedState<StoredAssignment>, entries: readonly ChangeEntry[]) =>
        assignments.derive(state, entries),
      refuse: () => undefined,
    };
    partition = new QueuePartition(work, {
      topicPrefix: 'a.',
      hold: ({ message, change }) => hasOwnKey(message.key, change),
    });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('writes the tombstone of what is final with the next change, and once', async () => {
    own();
    const first = changeAt(1);
    await take(first);
    finish(first);
    await take(changeAt(2));
    await take(changeAt(3));
    expect(written).toEqual([[], ['a.changes/4: M-1/0/1/0a1b2c3d'], []]);
  });

  it('writes it without one after a while', async () => {
    own();
    const only = changeAt(1);
    await take(only);
    finish(only);
    await pass(A_WHILE_MS);
    expect(written).toEqual([[], ['a.changes/4: M-1/0/1/0a1b2c3d']]);
  });

  it('writes it again after a transaction whose fate is not known', async () => {
    own();
    const first = changeAt(1);
    await take(first);
    finish(first);
    failing = true;
    await take(changeAt(2));
    failing = false;
    own();
    await nextTurn();
    expect(written).toEqual([[], ['a.changes/4: M-1/0/1/0a1b2c3d']]);
  });

  it('writes none for a key that changes of a machine share', async () => {
    own();
    const old = changeAt(1, 'M-1');
    await take(old);
    finish(old);
    await take(changeAt(2));
    expect(written).toEqual([[], []]);
  });

  it('forgets what is final once another process may write the partition', async () => {
    const lost = new AbortController();
    own(lost.signal);
    const first = changeAt(1);
    await take(first);
    lost.abort();
    finish(first);
    await pass(A_WHILE_MS);
    await take(changeAt(2));
    expect(written).toEqual([[], []]);
  });
});
