import { Inject, Injectable, Logger } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { type KafkaClient, partitionCount, partitionOf } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { ListFences } from './list-fences.js';

/**
 * Through which partition of `erp.work-order-lists.v1` the lists of a machine come that are keyed by it,
 * and whether that is this process's: it may be another one than the partition of the machine's orders,
 * where the topics are not equally wide.
 */
@Injectable()
export class ListPartitions {
  private readonly logger = new Logger('ListPartitions');
  private readonly topic: string;
  /** Undefined until Kafka has told, which it is asked for after each rebalance: that is how a topic's growth shows. */
  private count: number | undefined;
  private isAsking = false;
  private assignments = 0;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly fences: ListFences,
  ) {
    this.topic = `${topicPrefix}${TOPICS.workOrderLists}`;
  }

  /** Partitions have been shared out anew. */
  assignedAnew(): void {
    this.assignments += 1;
    this.count = undefined;
    void this.ask();
  }

  /**
   * Aborts when others may set the machine's list: another signal each time this process has come to be
   * the only one. Undefined while it is not, or that is not known.
   */
  soleSetterUntil(machineId: string): AbortSignal | undefined {
    if (this.count !== undefined) return this.fences.ownedUntil(partitionOf(machineId, this.count));
    void this.ask();
    return undefined;
  }

  private async ask(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    let askedUnder: number;
    do {
      askedUnder = this.assignments;
      const count = await this.readCount();
      if (askedUnder === this.assignments) this.count = count;
    } while (askedUnder !== this.assignments);
    this.isAsking = false;
  }

  /** Undefined when Kafka does not tell: lists are sent then that would not have to be, and it is asked again. */
  private async readCount(): Promise<number | undefined> {
    const { kafka, topic } = this;
    try {
      return await partitionCount(kafka, topic);
    } catch (error) {
      this.logger.warn({ msg: 'partitions not known', topic, error: String(error) });
      return undefined;
    }
  }
}
