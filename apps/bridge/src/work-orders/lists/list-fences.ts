import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import {
  type KafkaClient,
  KeyedState,
  type KeyedStateTopic,
  type OutboundRecord,
  type OwnedState,
} from '#libs/kafka';
import { type CommandResult } from '../../delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { OwnedPartitions, warnOfTimesAhead } from '../state/owned-partitions.js';

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
  /** Epoch seconds by machine, in the partition its lists come through. */
  readonly topic: KeyedStateTopic;
  private readonly logger = new Logger('ListFences');
  private readonly partitions: OwnedPartitions<number, PartitionFences>;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix, groupId }, erp }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    clock: Clock,
  ) {
    const isAhead = (issuedAt: number): boolean =>
      issuedAt > clock.nowSeconds() + erp.commandMaxSkewSeconds;
    this.partitions = new OwnedPartitions((state) => {
      const ahead = [...state.entries()].filter(([, issuedAt]) => isAhead(issuedAt));
      const machineIds = ahead.map(([machineId]) => machineId);
      if (ahead.length > 0)
        warnOfTimesAhead(this.logger, state.partition, 'machineIds', machineIds);
      return new PartitionFences(state, isAhead);
    });
    this.topic = new KeyedState<number>({
      kafka,
      name: `${topicPrefix}${LIST_FENCES}`,
      inputs: [TOPICS.workOrderLists],
      transactionalIdPrefix: groupId,
      parse: (json) => (typeof json === 'number' ? json : undefined),
      onOwned: (state) => {
        this.own(state);
      },
    });
  }

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<number>): void {
    this.partitions.own(state);
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

  /** From now on no list passes that was issued earlier; after a restart, if {@link recordsOf} were written. */
  raise(partition: number, machineId: string, issuedAt: number): void {
    this.partitions.get(partition)?.raise(machineId, issuedAt);
  }

  /** What is to be written of a list that was applied; nothing where that raises nothing. */
  recordsOf(partition: number, result: CommandResult): readonly OutboundRecord[] {
    if (result.kind !== 'applied' || result.machineId === null) return [];
    const { machineId, issuedAt } = result;
    if (issuedAt === undefined) return [];
    return this.partitions.get(partition)?.recordsOf(machineId, issuedAt) ?? [];
  }
}

/** The fences of one partition. Never lowered, but where one is a time that cannot be: that is ignored. */
class PartitionFences {
  /** @param isAhead whether no list can have been issued at that time yet */
  constructor(
    private readonly state: OwnedState<number>,
    private readonly isAhead: (issuedAt: number) => boolean,
  ) {}

  issuedAt(machineId: string): number | undefined {
    const issuedAt = this.state.get(machineId);
    return issuedAt === undefined || this.isAhead(issuedAt) ? undefined : issuedAt;
  }

  raise(machineId: string, issuedAt: number): void {
    if (issuedAt > (this.issuedAt(machineId) ?? -Infinity)) this.state.put(machineId, issuedAt);
  }

  recordsOf(machineId: string, issuedAt: number): readonly OutboundRecord[] {
    if (issuedAt < (this.issuedAt(machineId) ?? -Infinity)) return [];
    return [this.state.put(machineId, issuedAt)];
  }
}
