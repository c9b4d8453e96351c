import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS, TOPICS } from '#libs/contracts';
import { type KafkaClient, KeyedState, type OutboundRecord, type InputState } from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { warnOfTimesAhead } from './times-ahead.js';

/**
 * When the list last applied to each machine was issued, so that no older list follows it, not after a
 * restart either. Kept by the partition a list came through, whose owner writes it in one transaction with the list's
 * outcome: whoever owns that has its watermarks. Lists of a machine may come through several, for a message of several
 * machines has one key.
 */
@Injectable()
export class ListWatermarks {
  /** Epoch seconds by machine, in the partition its lists come through. */
  readonly topic: KeyedState<number, InputState<number>>;
  private readonly logger = new Logger('ListWatermarks');

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    private readonly clock: Clock,
  ) {
    const { topicPrefix, groupId } = settings.kafka;
    this.topic = new KeyedState<number, InputState<number>>({
      kafka,
      name: `${topicPrefix}${INTERNAL_TOPICS.workOrderListFences}`,
      inputs: [`${topicPrefix}${TOPICS.workOrderLists}`],
      transactionalIdPrefix: groupId,
      // there are no names of fields to leave out
      format: (issuedAt) => issuedAt,
      parse: (json) => (typeof json === 'number' ? json : undefined),
      onOwned: (state) => {
        const { latestSeconds } = this;
        const ahead = [...state.entries()].filter(([, issuedAt]) => issuedAt > latestSeconds);
        const machineIds = ahead.map(([machineId]) => machineId);
        warnOfTimesAhead(this.logger, state.partition, 'machineIds', machineIds);
        return state;
      },
    });
  }

  /** Epoch seconds at which the list last applied from here was issued; undefined when none said so. */
  issuedAt(machineId: string): number | undefined {
    const { latestSeconds } = this;
    let latest: number | undefined;
    for (const state of this.topic.holders.values()) {
      const issuedAt = state.get(machineId) ?? Infinity;
      if (issuedAt <= latestSeconds && issuedAt > (latest ?? -Infinity)) latest = issuedAt;
    }
    return latest;
  }

  /**
   * From now on no list passes that was issued before the one that has just been applied. Returns what is to be written
   * with its outcome, for it to be so after a restart too; nothing where a later list was applied before. It is not taken
   * back, whatever becomes of the records: the service has the list.
   */
  raise(partition: number, machineId: string, issuedAt: number): readonly OutboundRecord[] {
    const state = this.topic.holders.get(partition);
    if (state === undefined) return [];
    const { latestSeconds } = this;
    const known = state.get(machineId) ?? -Infinity;
    return issuedAt < known && known <= latestSeconds ? [] : [state.put(machineId, issuedAt)];
  }

  /** No list can have been issued later yet: a watermark that lies behind it is ignored, and may be lowered. */
  private get latestSeconds(): number {
    return this.clock.nowSeconds() + this.settings.erp.commandMaxSkewSeconds;
  }
}
