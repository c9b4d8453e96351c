import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { everyRealMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { WORK_ORDER_QUEUES } from '#libs/contracts';
import {
  deleteCommitted,
  describeKafkaFailure,
  type InboundMessage,
  type KafkaClient,
  MayNotDeleteError,
  type OutboundRecord,
} from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';

const DELETE_EVERY_MS = 30_000;
/** Where Kafka does not allow it, which its client logs each time: so many turns pass before the next try. */
const TURNS_LEFT_OUT = 120;

/**
 * Keeps the queues from growing: what is committed is deleted from them. Where Kafka does not allow that, each record
 * gets a tombstone as it ends, which lets compaction remove it.
 */
@Injectable()
export class QueueRetention implements OnModuleDestroy {
  private readonly logger = new Logger('Queues');
  /** Those from which records may be deleted, as far as that is known. */
  private readonly deletable = new Set<string>();
  /** Turns to leave out, of those from which records may not be deleted. */
  private readonly leftOut = new Map<string, number>();
  private stop: (() => void) | undefined;
  private isDeleting = false;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {}

  /** What is to be written with the end of a queue's record. */
  endOf({
    topic,
    partition,
    key,
  }: Pick<InboundMessage, 'topic' | 'partition' | 'key'>): readonly OutboundRecord[] {
    if (this.stop === undefined) {
      this.stop = everyRealMs(DELETE_EVERY_MS, () => void this.deleteCommitted());
      void this.deleteCommitted();
    }
    if (this.deletable.has(topic)) return [];
    const { topicPrefix } = this.settings.kafka;
    return [{ topic: `${topicPrefix}${topic}`, partition, key, value: null, headers: {} }];
  }

  onModuleDestroy(): void {
    this.stop?.();
  }

  /** Never rejects. */
  private async deleteCommitted(): Promise<void> {
    if (this.isDeleting) return;
    this.isDeleting = true;
    const { groupId, topicPrefix } = this.settings.kafka;
    for (const queue of Object.values(WORK_ORDER_QUEUES)) {
      const turns = this.leftOut.get(queue) ?? 0;
      this.leftOut.set(queue, turns - 1);
      if (turns > 0) continue;
      try {
        await deleteCommitted(this.kafka, groupId, `${topicPrefix}${queue}`);
        this.deletable.add(queue);
      } catch (error) {
        this.failed(queue, error);
      }
    }
    this.isDeleting = false;
  }

  private failed(queue: string, error: unknown): void {
    if (!(error instanceof MayNotDeleteError)) {
      const why = describeKafkaFailure(error, { right: 'Delete', topics: [queue] });
      this.logger.warn({ msg: 'queue not shortened, will try again', queue, error: why });
      return;
    }
    this.deletable.delete(queue);
    this.leftOut.set(queue, TURNS_LEFT_OUT);
    this.logger.log({ msg: 'queue is shortened by tombstones', queue, why: error.why });
  }
}
