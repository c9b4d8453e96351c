import { Injectable } from '@nestjs/common';
import { type OwnedState, type PartitionOwnership } from '#libs/messaging';
import { OwnedPartitions } from '../owned-partitions.js';
import { PartitionFences } from './partition-fences.js';

/**
 * When the list last applied to each machine was issued, so that no older list follows it, not after a
 * restart either. Kept by the partition a list came through: whoever owns that has its fences.
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

  /** Epoch seconds at which the list last applied was issued; undefined when none said so. */
  issuedAt(partition: number, machineId: string): number | undefined {
    return this.partitions.find(partition)?.issuedAt(machineId);
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
