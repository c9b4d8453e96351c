import { Logger } from '@nestjs/common';
import { type Clock } from '#libs/clock';
import { deadLetterHeaders, deadLetterTopic, type Rejection } from '#libs/contracts';
import { type InboundMessage } from '../inbox/inbound-message.js';
import { type Outbox } from './outbox.js';

/** Why a message is set aside. */
export interface DeadLetterReason extends Rejection {
  /** Calls made to the service before it was given up. */
  attempts: number;
  httpStatus?: number;
  /** The machines at fault, of a message that names several. */
  machineIds?: readonly string[];
}

/** Sets messages aside on `<input topic>.dlq`, byte for byte, with the reason in headers. */
export class DeadLetters {
  private readonly logger = new Logger('DeadLetters');

  constructor(
    private readonly outbox: Outbox,
    private readonly clock: Clock,
    private readonly topicPrefix: string,
  ) {}

  /** Resolves once Kafka has acknowledged the dead letter; only then may the offset move. */
  async publish(message: InboundMessage, reason: DeadLetterReason): Promise<void> {
    const { topic, partition, offset } = message;
    const sourceTopic = `${this.topicPrefix}${topic}`;
    const { code, detail, attempts, httpStatus, machineIds } = reason;
    this.logger.warn({ msg: 'dead letter', topic, partition, offset, code, detail, machineIds });
    await this.outbox.send({
      topic: deadLetterTopic(sourceTopic),
      key: message.key,
      value: message.value,
      headers: {
        ...message.headers,
        ...deadLetterHeaders({
          code,
          detail,
          sourceTopic,
          partition,
          offset: String(offset),
          timestamp: message.timestamp,
          failedAt: this.clock.nowSeconds(),
          attempts,
          ...(httpStatus !== undefined && { httpStatus }),
          ...(machineIds !== undefined && { machineIds }),
        }),
      },
    });
  }
}
