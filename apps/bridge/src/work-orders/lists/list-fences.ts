import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type OwnedState, type PartitionOwnership } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { OwnedPartitions } from '../owned-partitions.js';
import { PartitionFences } from './partition-fences.js';

/**
 * When the list last applied to each machine was issued, so that no older list follows it, not after a
 * restart either. Kept by the partition a list came through: whoever owns that has its fences. Lists of a
 * machine may come through several, for a message of several machines has one key.
 */
@Injectable()
export class ListFences {
  private readonly partitions: OwnedPartitions<number, PartitionFences>;

  constructor(
    @Inject(BRIDGE_SETTINGS) { erp }: { erp: Pick<BridgeSettings['erp'], 'commandMaxSkewSeconds'> },
    clock: Clock,
  ) {
    const isAhead = (issuedAt: number): boolean =>
      issuedAt > clock.nowSeconds() + erp.commandMaxSkewSeconds;
    this.partitions = new OwnedPartitions(() => new PartitionFences(isAhead));
  }

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
