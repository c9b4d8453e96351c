import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS, TOPICS } from '#libs/contracts';
import { type KafkaClient, KeyedState, type OutboundRecord, type InputState } from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';

/**
 * The time of issue of the list last applied to each machine, so that no older list follows it, even after a restart. A
 * watermark is kept by the input partition of its list, whose owner writes it in one transaction with the list's
 * outcome: the owner of the partition has its watermarks. Lists of one machine may come through several partitions,
 * because a message for several machines has one key.
 */
@Injectable()
export class ListWatermarks {
  /** Epoch seconds by machine, in the partition of the machine's lists. */
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
      groupId,
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

  /** Epoch seconds at which the list last applied from here was issued; undefined if none had a time. */
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
   * Supersedes lists issued before the one that has just been applied. Returns the records to be written with its
   * outcome; none if a later list was applied before. The watermark stays raised even if the records are not written,
   * because the service has the list.
   */
  raise(partition: number, machineId: string, issuedAt: number): readonly OutboundRecord[] {
    const state = this.topic.holders.get(partition);
    if (state === undefined) return [];
    const { latestSeconds } = this;
    const known = state.get(machineId) ?? -Infinity;
    return issuedAt < known && known <= latestSeconds ? [] : [state.put(machineId, issuedAt)];
  }

  /** The latest time at which a list can have been issued. A later watermark is ignored, and may be lowered. */
  private get latestSeconds(): number {
    return this.clock.nowSeconds() + this.settings.erp.commandMaxSkewSeconds;
  }
}

const MOST_NAMED = 10;

/** Warns of remembered times that no clock can have shown yet, which an earlier version stored: they are ignored. */
export function warnOfTimesAhead(
  logger: Logger,
  partition: number,
  ids: 'machineIds' | 'orderIds',
  found: readonly string[],
): void {
  if (found.length === 0) return;
  logger.warn({
    msg: 'remembered times lie ahead of the clock and are ignored',
    partition,
    count: found.length,
    [ids]: found.slice(0, MOST_NAMED),
  });
}
