import { OwnedPartitions } from './owned-partitions.js';
import { ownedState } from '../testing/owned-state.js';

describe('what is kept of partitions', () => {
  const partitions = new OwnedPartitions(({ partition }) => ({ partition }));

  it('is there from when a partition is restored until it is lost', () => {
    const losing = new AbortController();
    expect(partitions.get(3)).toBeUndefined();
    partitions.own(ownedState(undefined, { partition: 3, lost: losing.signal }));
    expect([partitions.get(3), [...partitions.all()]]).toEqual([
      { partition: 3 },
      [{ partition: 3 }],
    ]);
    losing.abort();
    expect(partitions.get(3)).toBeUndefined();
  });

  it('stays where the partition has come back before its loss is heard of', () => {
    const losing = new AbortController();
    partitions.own(ownedState(undefined, { partition: 4, lost: losing.signal }));
    partitions.own(ownedState(undefined, { partition: 4 }));
    const again = partitions.get(4);
    losing.abort();
    expect(partitions.get(4)).toBe(again);
  });
});
