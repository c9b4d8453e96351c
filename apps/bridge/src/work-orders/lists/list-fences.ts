import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type OutboundRecord, type OwnedState } from '#libs/messaging';
import { type CommandResult } from '../../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { OwnedPartitions, type PartitionHolder } from '../owned-partitions.js';
import { warnOfTimesAhead } from '../times-ahead.js';

/** The topic, without the prefix. */
export const LIST_FENCES = 'machine-bridge.work-order-list-fences.v1';

/**
 * When the list last applied to each machine was issued, so that no older list follows it, not after a
 * restart either. Kept by the partition a list came through, whose owner writes it in one transaction with the list's
 * outcome: whoever owns that has its fences. Lists of a machine may come through several, for a message of several
 * machines has one key.
 */
@Injectable()
export class ListFences {
  private readonly topic: string;
  private readonly partitions: OwnedPartitions<number, PartitionFences>;

  constructor(
    @Inject(BRIDGE_SETTINGS)
    {
      kafka,
      erp,
    }: {
      kafka: Pick<BridgeSettings['kafka'], 'topicPrefix'>;
      erp: Pick<BridgeSettings['erp'], 'commandMaxSkewSeconds'>;
    },
    clock: Clock,
  ) {
    this.topic = `${kafka.topicPrefix}${LIST_FENCES}`;
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

  /** From now on no list passes that was issued earlier; after a restart, if {@link recordOf} was written. */
  raise(partition: number, machineId: string, issuedAt: number): void {
    this.partitions.of(partition).raise(machineId, issuedAt);
  }

  /** What is to be written of a list that was applied; undefined where that raises nothing. */
  recordOf(partition: number, result: CommandResult): OutboundRecord | undefined {
    if (result.kind !== 'applied' || result.machineId === null) return undefined;
    const { machineId, issuedAt } = result;
    const known = this.partitions.of(partition).issuedAt(machineId) ?? -Infinity;
    if (issuedAt === undefined || issuedAt < known) return undefined;
    return { topic: this.topic, partition, key: machineId, value: `${issuedAt}`, headers: {} };
  }
}

/** The fences of one partition. Never lowered, but where one is a time that cannot be: that is ignored. */
class PartitionFences implements PartitionHolder<number> {
  readonly isIdle = true;
  private readonly logger = new Logger('ListFences');
  private restored: OwnedState<number> | undefined;
  private readonly raised = new Map<string, number>();

  /** @param isAhead whether no list can have been issued at that time yet */
  constructor(private readonly isAhead: (issuedAt: number) => boolean) {}

  own(state: OwnedState<number>): void {
    this.restored = state;
    this.raised.clear();
    const ahead = [...state.entries()].filter(([, issuedAt]) => this.isAhead(issuedAt));
    if (ahead.length === 0) return;
    const machineIds = ahead.map(([machineId]) => machineId);
    warnOfTimesAhead(this.logger, state.partition, 'machineIds', machineIds);
  }

  issuedAt(machineId: string): number | undefined {
    const raised = this.raised.get(machineId);
    if (raised !== undefined) return raised;
    const restored = this.restored?.get(machineId);
    return restored === undefined || this.isAhead(restored) ? undefined : restored;
  }

  raise(machineId: string, issuedAt: number): void {
    if (issuedAt > (this.issuedAt(machineId) ?? -Infinity)) this.raised.set(machineId, issuedAt);
  }
}
