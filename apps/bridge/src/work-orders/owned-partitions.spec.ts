import { type OwnedState } from '#libs/messaging';
import { OwnedPartitions, type PartitionHolder } from './owned-partitions.js';

class Holder implements PartitionHolder<number> {
  isIdle = true;
  readonly states: OwnedState<number>[] = [];

  own(state: OwnedState<number>): void {
    this.states.push(state);
  }
}

function stateOf(partition: number, lost: AbortSignal): OwnedState<number> {
  return {
    partition,
    signal: lost,
    lost,
    get: () => undefined,
    keys: () => new Map<string, number>().keys(),
    entries: () => new Map<string, number>().entries(),
    commit: () => Promise.resolve(),
  };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('what is kept of partitions', () => {
  let partitions: OwnedPartitions<number, Holder>;
  let losing: AbortController;

  beforeEach(() => {
    partitions = new OwnedPartitions(() => new Holder());
    losing = new AbortController();
    partitions.own(stateOf(0, losing.signal));
  });

  it('stays when a partition is restored anew', () => {
    const holder = partitions.of(0);
    partitions.own(stateOf(0, losing.signal));
    expect(partitions.of(0)).toBe(holder);
    expect(holder.states).toHaveLength(2);
  });

  it('is let go of when the partition is lost, and that of no other', async () => {
    partitions.own(stateOf(1, new AbortController().signal));
    losing.abort();
    await nextTurn();
    expect([...partitions.all()]).toEqual([partitions.of(1)]);
  });

  it('is what was there before, as long as something waits there for the partition to return', async () => {
    const holder = partitions.of(0);
    holder.isIdle = false;
    losing.abort();
    await nextTurn();
    partitions.own(stateOf(0, new AbortController().signal));
    expect(partitions.of(0)).toBe(holder);
  });

  it('is kept of a partition that has come back in the same turn', async () => {
    const holder = partitions.of(0);
    losing.abort();
    partitions.own(stateOf(0, new AbortController().signal));
    await nextTurn();
    expect([...partitions.all()]).toEqual([holder]);
  });
});
