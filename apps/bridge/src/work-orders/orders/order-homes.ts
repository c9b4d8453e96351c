import { Inject, Injectable, Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import {
  describeKafkaFailure,
  type KafkaClient,
  partitionCount,
  partitionOf,
} from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { RELAYED_ORDERS } from './relayed-orders.js';

const BACK_OFF = { baseMs: 200, capMs: 5000 };

/** The partition an order is kept in, whichever its messages come through. */
export type HomeOf = (orderId: string) => number;

/** By the hash of its id, over the partitions of the topic that takes it there: they never change. */
@Injectable()
export class OrderHomes {
  private readonly logger = new Logger('OrderHomes');
  private readonly topic: string;
  private homeOf: HomeOf | undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    this.topic = `${topicPrefix}${RELAYED_ORDERS}`;
  }

  /** Kafka is asked once, and again until it answers. Rejects only when aborted. */
  async known(signal: AbortSignal): Promise<HomeOf> {
    const { kafka, topic } = this;
    for (let attempt = 1; this.homeOf === undefined; attempt += 1) {
      try {
        const count = await partitionCount(kafka, topic);
        this.homeOf = (orderId) => partitionOf(orderId, count);
      } catch (error) {
        this.logger.warn({
          msg: 'partitions not known',
          topic,
          error: describeKafkaFailure(error),
        });
        await realDelayMs(backOffMs(attempt, BACK_OFF), signal);
      }
    }
    return this.homeOf;
  }
}
