import { Injectable } from '@nestjs/common';
import { type OwnedState, type PartitionOwnership } from '#libs/messaging';
import { OwnedPartitions } from '../owned-partitions.js';
import { PartitionFences } from './partition-fences.js';

/**
 * When the list last applied to each machine was issued, so that no older list follows it, not after a
 * restart either. Kept by the partition a list came through: whoever owns that has its fences. Lists of a
 * machine may come through several, for a message of several machines has one key.
 */
@Injectable()
export class ListFences {
  private readonly partitions = new OwnedPartitions(() => new PartitionFences());

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<number>): void {
    this.partitions.own(state);
  }

  /** Aborts when the partition is lost: one signal for each time it is owned. Undefined while it is not. */
  ownedUntil(partition: number): AbortSignal | undefined {
    return this.partitions.ownedUntil(partition);
  }

  /** Epoch seconds at which the list last applied from here was issued; undefined when none said so. */
  issuedAt(machineId: string): number | undefined {
    let latest: number | undefined;
    for (const fences of this.partitions.all()) {
      const issuedAt = fences.issuedAt(machineId);
      if (issuedAt !== undefined && !(latest !== undefined && latest > issuedAt)) latest = issuedAt;
    }
    return latest;
  }

  /** Resolves once Kafka has it; rejects when the partition is lost before. */
  raise(
    { partition, ownership }: { partition: number; ownership: PartitionOwnership },
    machineId: string,
    issuedAt: number,
  ): Promise<void> {
    return this.partitions.of(partition).raise(ownership, machineId, issuedAt);
  }
}
