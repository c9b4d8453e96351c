import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS, TOPICS } from '#libs/contracts';
import {
  type KafkaClient,
  KeyedState,
  type KeyedStateTopic,
  type OutboundRecord,
  type InputState,
} from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { OwnedPartitions, warnOfTimesAhead } from '../state/owned-partitions.js';

/**
 * When the list last applied to each machine was issued, so that no older list follows it, not after a
 * restart either. Kept by the partition a list came through, whose owner writes it in one transaction with the list's
 * outcome: whoever owns that has its watermarks. Lists of a machine may come through several, for a message of several
 * machines has one key.
 */
@Injectable()
export class ListWatermarks {
  /** Epoch seconds by machine, in the partition its lists come through. */
  readonly topic: KeyedStateTopic;
  private readonly logger = new Logger('ListWatermarks');
  private readonly partitions = new OwnedPartitions((state: InputState<number>) => {
    const ahead = [...state.entries()].filter(([, issuedAt]) => this.isAhead(issuedAt));
    const machineIds = ahead.map(([machineId]) => machineId);
    warnOfTimesAhead(this.logger, state.partition, 'machineIds', machineIds);
    return state;
  });
  /** Takes over a partition that has just been restored. */
  readonly own = this.partitions.own;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    private readonly clock: Clock,
  ) {
    const { topicPrefix, groupId } = settings.kafka;
    this.topic = new KeyedState<number>({
      kafka,
      name: `${topicPrefix}${INTERNAL_TOPICS.workOrderListFences}`,
      inputs: [TOPICS.workOrderLists],
      transactionalIdPrefix: groupId,
      parse: (json) => (typeof json === 'number' ? json : undefined),
      onOwned: this.own,
    });
  }

  /** Epoch seconds at which the list last applied from here was issued; undefined when none said so. */
  issuedAt(machineId: string): number | undefined {
    let latest: number | undefined;
    for (const state of this.partitions.all()) {
      const issuedAt = this.watermarkIn(state, machineId);
      if (issuedAt > (latest ?? -Infinity)) latest = issuedAt;
    }
    return latest;
  }

  /**
   * From now on no list passes that was issued before the one that has just been applied. Returns what is to be written
   * with its outcome, for it to be so after a restart too; nothing where a later list was applied before. It is not taken
   * back, whatever becomes of the records: the service has the list.
   */
  raise(partition: number, machineId: string, issuedAt: number): readonly OutboundRecord[] {
    const state = this.partitions.get(partition);
    if (state === undefined) return [];
    return issuedAt < this.watermarkIn(state, machineId) ? [] : [state.put(machineId, issuedAt)];
  }

  private watermarkIn(state: InputState<number>, machineId: string): number {
    const issuedAt = state.get(machineId);
    return issuedAt === undefined || this.isAhead(issuedAt) ? -Infinity : issuedAt;
  }

  /** Whether no list can have been issued at that time yet: such a watermark is ignored, and may be lowered. */
  private isAhead(issuedAt: number): boolean {
    return issuedAt > this.clock.nowSeconds() + this.settings.erp.commandMaxSkewSeconds;
  }
}
