import { Inject, Injectable, Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure, type KafkaClient, partitionCount, partitionOf } from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { ASSIGNMENT_CHANGES, RELAYED_ORDERS } from './queues.js';

const BACK_OFF = { baseMs: 200, capMs: 5000 };

/** What to do when a partitioning topic has grown all the same: orders on their way would get lost. */
export const LEDGER_BEGINS_ANEW =
  'orders and machines are shared out by it and cannot move. Stop all processes, delete the topics of the order ' +
  'ledger (machine-bridge.orders, order-requests, relayed-orders, order-refusals, assignment-changes and assignments), start, and ' +
  'have the ERP send its open orders again';

/** The partition of an order or a machine: the hash of its id, over those of the queue topic, which stay as many. */
type Partitioner = (id: string) => number;

const notKnown: Partitioner = () => {
  throw new Error('partition counts have not been read yet');
};

/** Partitions of orders and machines, once they are {@link known}. */
@Injectable()
export class OrderPartitioner {
  ofOrder = notKnown;
  ofMachine = notKnown;
  private readonly logger = new Logger('OrderPartitioner');
  private areKnown = false;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {}

  /** Kafka is asked once, and again until it answers. Rejects only when aborted. */
  async known(signal: AbortSignal): Promise<void> {
    if (this.areKnown) return;
    this.ofOrder = await this.partitionerOf(RELAYED_ORDERS, signal);
    this.ofMachine = await this.partitionerOf(ASSIGNMENT_CHANGES, signal);
    this.areKnown = true;
  }

  private async partitionerOf(name: string, signal: AbortSignal): Promise<Partitioner> {
    const topic = `${this.settings.kafka.topicPrefix}${name}`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const count = await partitionCount(this.kafka, topic);
        return (id) => partitionOf(id, count);
      } catch (error) {
        const why = describeKafkaFailure(error);
        this.logger.warn({ msg: 'partitions not known', topic, error: why });
        await realDelayMs(backOffMs(attempt, BACK_OFF), signal);
      }
    }
  }
}
