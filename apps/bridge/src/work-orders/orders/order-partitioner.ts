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

/** The partition an order is kept in, or a machine, by its id, whichever its messages come through. */
export type Partitioner = (id: string) => number;

/** By the hash of the id, over the partitions of the queue topic, whose number never changes. */
export interface Partitioners {
  ofOrder: Partitioner;
  ofMachine: Partitioner;
}

/** Partitions of orders and machines. */
@Injectable()
export class OrderPartitioner {
  private readonly logger = new Logger('OrderPartitioner');
  private readonly topicPrefix: string;
  private partitioners: Partitioners | undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    this.topicPrefix = topicPrefix;
  }

  /** Only after {@link known} has resolved. */
  ofMachine(machineId: string): number {
    if (this.partitioners === undefined) throw new Error('partition counts have not been read yet');
    return this.partitioners.ofMachine(machineId);
  }

  /** Kafka is asked once, and again until it answers. Rejects only when aborted. */
  async known(signal: AbortSignal): Promise<Partitioners> {
    this.partitioners ??= {
      ofOrder: await this.partitionerOf(RELAYED_ORDERS, signal),
      ofMachine: await this.partitionerOf(ASSIGNMENT_CHANGES, signal),
    };
    return this.partitioners;
  }

  private async partitionerOf(name: string, signal: AbortSignal): Promise<Partitioner> {
    const topic = `${this.topicPrefix}${name}`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const count = await partitionCount(this.kafka, topic);
        return (id) => partitionOf(id, count);
      } catch (error) {
        this.logger.warn({
          msg: 'partitions not known',
          topic,
          error: describeKafkaFailure(error),
        });
        await realDelayMs(backOffMs(attempt, BACK_OFF), signal);
      }
    }
  }
}
