import { Logger } from '@nestjs/common';
import { type Clock } from '#libs/clock';
import {
  DEAD_LETTER_HEADERS,
  deadLetterHeaders,
  deadLetterTopic,
  type Rejection,
} from '#libs/contracts';
import { type InboundRecord } from '../inbox/inbound-message.js';
import { type OutboundRecord } from './outbound-record.js';
import { type Outbox } from './outbox.js';
import { RecordRefusedError } from './record-refused.js';

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
  async publish(message: InboundRecord, reason: DeadLetterReason): Promise<void> {
    const { topic, partition, offset } = message;
    const { code, detail, machineIds } = reason;
    this.logger.warn({ msg: 'dead letter', topic, partition, offset, code, detail, machineIds });
    const letter = this.letter(message, reason);
    try {
      await this.outbox.send(letter);
    } catch (error) {
      if (!(error instanceof RecordRefusedError)) throw error;
      await this.publishWithoutValue(message, letter, error);
    }
  }

  /**
   * A topic that takes less than the input's did must not stop everything behind this message: the
   * letter says where the message lies, in a topic that still has it.
   */
  private async publishWithoutValue(
    { topic, partition, offset, value }: InboundRecord,
    letter: OutboundRecord,
    error: RecordRefusedError,
  ): Promise<void> {
    const bytes = value?.length ?? 0;
    this.logger.error({
      msg: 'dead letter without its value: raise max.message.bytes of the dead-letter topic',
      topic,
      partition,
      offset,
      bytes,
      error: error.message,
    });
    const headers = { ...letter.headers, [DEAD_LETTER_HEADERS.valueOmitted]: String(bytes) };
    await this.outbox.send({ ...letter, value: null, headers });
  }

  private letter(message: InboundRecord, reason: DeadLetterReason): OutboundRecord {
    const { partition, offset, timestamp } = message;
    const { code, detail, attempts, httpStatus, machineIds } = reason;
    const sourceTopic = `${this.topicPrefix}${message.topic}`;
    const why = deadLetterHeaders({
      code,
      detail,
      sourceTopic,
      partition,
      offset: String(offset),
      timestamp,
      failedAt: this.clock.nowSeconds(),
      attempts,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(machineIds !== undefined && { machineIds }),
    });
    return {
      topic: deadLetterTopic(sourceTopic),
      key: message.key,
      value: message.value,
      headers: { ...message.headers, ...why },
    };
  }
}
