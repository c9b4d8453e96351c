import { type MachineInfo } from '#libs/cloud-client';
import { partitionOf } from '#libs/kafka';
import { PartitionShares } from './owned-machines.js';

const listOf = (count: number): Map<string, MachineInfo> =>
  new Map(
    Array.from({ length: count }, (_, index) => {
      const machineId = `M-${index}`;
      return [machineId, { machineId, displayName: '', factoryId: '', factoryName: '' }];
    }),
  );

describe('PartitionShares', () => {
  it('gives each machine to the partition of its key', () => {
    const shares = new PartitionShares().of(listOf(300), 7);
    expect(shares.flat()).toHaveLength(300);
    for (const [partition, share] of shares.entries()) {
      for (const { machineId } of share) expect(partitionOf(machineId, 7)).toBe(partition);
    }
  });

  it('shares a list out once, however many partitions ask', () => {
    const shares = new PartitionShares();
    const listed = listOf(10);
    const first = shares.of(listed, 50);
    expect(shares.of(listed, 50)).toBe(first);
  });

  it('shares out anew a list that is another, and for another number of partitions', () => {
    const shares = new PartitionShares();
    const listed = listOf(10);
    const first = shares.of(listed, 3);
    expect(shares.of(new Map(listed), 3)).not.toBe(first);
    expect(shares.of(listed, 4)).toHaveLength(4);
  });
});
