import { type MachineInfo } from '#libs/cloud-client';
import { partitionOf } from '#libs/kafka';

/**
 * A list of machines shared out to partitions. All partitions follow the same list in the same tick: it is hashed
 * once, not by each of them, which for 100,000 machines and 50 partitions took the event loop for seconds.
 */
export class PartitionShares {
  private listed: ReadonlyMap<string, MachineInfo> | undefined;
  private shares: MachineInfo[][] = [];

  /** The machines of each partition; the list is not to be changed any more. */
  of(listed: ReadonlyMap<string, MachineInfo>, partitions: number): readonly MachineInfo[][] {
    if (listed === this.listed && partitions === this.shares.length) return this.shares;
    const shares = Array.from({ length: partitions }, (): MachineInfo[] => []);
    for (const info of listed.values()) shares[partitionOf(info.machineId, partitions)]?.push(info);
    this.listed = listed;
    this.shares = shares;
    return shares;
  }
}
