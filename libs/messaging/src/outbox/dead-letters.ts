import { Logger } from '@nestjs/common';
import { type Clock } from '#libs/clock';
import {
  DEAD_LETTER_HEADERS,
  deadLetterHeaders,
  deadLetterTopic,
  originalHeaders,
  type Rejection,
} from '#libs/contracts';
import { type InboundRecord } from '../inbox/inbound-message.js';
import { leanLetter, letterWithoutValue, type WholeLetter } from './lean-letters.js';
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

  /**
   * Resolves once Kafka has acknowledged the dead letter; only then may the offset move. A topic that
   * takes less than the input's did must not stop everything behind this message: then the letter says
   * where the message lies, in a topic that still has it.
   */
  async publish(message: InboundRecord, reason: DeadLetterReason): Promise<void> {
    const { topic, partition, offset } = message;
    const { code, detail, machineIds } = reason;
    this.logger.warn({ msg: 'dead letter', topic, partition, offset, code, detail, machineIds });
    const why = this.headersOf(message, reason);
    const omitted = message.unreadable?.omittedBytes;
    if (omitted !== undefined) why[DEAD_LETTER_HEADERS.valueOmitted] = String(omitted);
    const whole: WholeLetter = {
      topic: deadLetterTopic(`${this.topicPrefix}${topic}`),
      key: message.key,
      value: message.value,
      // An input may have been copied from a dead letter: what was wrong then is not what is wrong now.
      headers: [...originalHeaders(message.headers), ...Object.entries(why)],
    };
    const refusal = await this.refusalOf(whole);
    if (refusal === undefined) return;
    this.logLack(message, 'value', refusal);
    const secondRefusal = await this.refusalOf(letterWithoutValue(whole));
    if (secondRefusal === undefined) return;
    this.logLack(message, 'value and headers', secondRefusal);
    await this.outbox.send(leanLetter(whole, why));
  }

  private async refusalOf(letter: OutboundRecord): Promise<RecordRefusedError | undefined> {
    try {
      await this.outbox.send(letter);
      return undefined;
    } catch (error) {
      if (error instanceof RecordRefusedError) return error;
      throw error;
    }
  }

  private logLack(message: InboundRecord, lacks: string, { message: error }: Error): void {
    const { topic, partition, offset, bytes } = message;
    this.logger.error({
      msg: `dead letter without its ${lacks}: raise max.message.bytes of the dead-letter topic`,
      ...{ topic, partition, offset, bytes, error },
    });
  }

  private headersOf(message: InboundRecord, reason: DeadLetterReason): Record<string, string> {
    const { topic, partition, offset, timestamp } = message;
    const { code, detail, attempts, httpStatus, machineIds } = reason;
    return deadLetterHeaders({
      code,
      detail,
      sourceTopic: `${this.topicPrefix}${topic}`,
      partition,
      offset: String(offset),
      timestamp,
      failedAt: this.clock.nowSeconds(),
      attempts,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(machineIds !== undefined && { machineIds }),
    });
  }
}
