import { PartitionOwnership } from '#libs/messaging';
import { messageAt } from '../testing/message-at.js';
import { type AssignmentChange } from './assignment-change.js';
import { ChangesPartition, type ReadChanges } from './changes-partition.js';
import { type StoredAssignment } from './derive-assignments.js';
import { type ChangeEntry } from './partition-assignments.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a partition of changes', () => {
  let ownership: PartitionOwnership;
  let partition: ChangesPartition;
  /** Offsets of the records that came to their end here, and how. */
  let ends: string[];

  beforeEach(() => {
    ownership = new PartitionOwnership();
    ends = [];
    // its list waits for the service until the partition is lost
    const wait = ({ message }: ChangeEntry): void => {
      message.ownership.whenLost(() => {
        message.abandon();
      });
    };
    partition = new ChangesPartition('', wait, () => undefined);
  });

  const recordAt = (offset: number, count: number): ReadChanges => {
    const message = messageAt(offset, {
      ...{ key: Buffer.from(`M-1/0/${offset}`), ownership },
      finish: () => ends.push(`${offset} finished`),
      abandon: () => ends.push(`${offset} abandoned`),
    });
    const source = { topic: 'orders', partition: 0, offset, messageId: null };
    const change: AssignmentChange = { machineId: 'M-1', orders: [], source };
    return { message, changes: Array.from({ length: count }, () => change) };
  };

  it('takes no more while thousands wait, however few their records are', async () => {
    partition.own({
      ...{ partition: 0, signal: ownership.signal, lost: ownership.signal },
      get: () => undefined,
      keys: () => new Map<string, StoredAssignment>().keys(),
      entries: () => new Map<string, StoredAssignment>().entries(),
      commit: () => Promise.resolve(),
    });
    await partition.take([recordAt(1, 1000)]);
    let hasRoom = false;
    const taken = partition.take([recordAt(2, 1500)]).then(() => (hasRoom = true));
    await nextTurn();
    expect(hasRoom).toBe(false);
    ownership.lose(new Error('another process has it'));
    await taken;
    expect(ends).toEqual(['1 abandoned', '2 abandoned']);
  });
});
