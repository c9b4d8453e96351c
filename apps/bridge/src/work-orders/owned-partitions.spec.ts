import { type OwnedState } from '#libs/messaging';
import { OwnedPartitions, type PartitionHolder } from './owned-partitions.js';
import { emptyState } from './testing/empty-state.js';

class Holder implements PartitionHolder<number> {
  isIdle = true;
  readonly states: OwnedState<number>[] = [];

  own(state: OwnedState<number>): void {
    this.states.push(state);
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('what is kept of partitions', () => {
  let partitions: OwnedPartitions<number, Holder>;
  let losing: AbortController;

  beforeEach(() => {
    partitions = new OwnedPartitions(() => new Holder());
    losing = new AbortController();
    partitions.own(emptyState(0, losing.signal));
  });

  it('stays when a partition is restored anew', () => {
    const holder = partitions.of(0);
    partitions.own(emptyState(0, losing.signal));
    expect(partitions.of(0)).toBe(holder);
    expect(holder.states).toHaveLength(2);
  });

  it('is let go of when the partition is lost, and that of no other', async () => {
    partitions.own(emptyState(1, new AbortController().signal));
    losing.abort();
    await nextTurn();
    expect([...partitions.all()]).toEqual([partitions.of(1)]);
  });

  it('is what was there before, as long as something waits there for the partition to return', async () => {
    const holder = partitions.of(0);
    holder.isIdle = false;
    losing.abort();
    await nextTurn();
    partitions.own(emptyState(0, new AbortController().signal));
    expect(partitions.of(0)).toBe(holder);
  });

  it('is kept of a partition that has come back in the same turn', async () => {
    const holder = partitions.of(0);
    losing.abort();
    partitions.own(emptyState(0, new AbortController().signal));
    await nextTurn();
    expect([...partitions.all()]).toEqual([holder]);
  });
});
