import { Logger } from '@nestjs/common';
import { type Clock, realNowMs } from '#libs/clock';
import {
  DEAD_LETTER_HEADERS,
  deadLetterHeaders,
  deadLetterTopic,
  type MessageHeaders,
  originalHeaders,
  printable,
  type Rejection,
} from '#libs/contracts';
import { type TraceContext, traceContextOf } from '#libs/tracing';
import type { InboundRecord } from '../reading/stored-record.js';
import type { OutboundRecord, RecordRefusedError } from './outbound-record.js';

export interface DeadLetterReason extends Rejection {
  /** Calls made to the service before the message was rejected. */
  attempts: number;
  httpStatus?: number;
  /** The machines at fault, if the message names several. */
  machineIds?: readonly string[];
  /** Span of the rejection, in traces; by default that of the message. */
  trace?: TraceContext;
}

/** A batch may hold 100,000 rejected records, whose log lines would wait in memory for a slow reader. */
const MOST_LINES_A_SECOND = 100;

/** Advice for a dead letter that is written without its value or headers. */
const ADVICE: Record<RecordRefusedError['code'], string> = {
  'too-large': 'raise max.message.bytes of the dead-letter topic',
  'beyond-bound': 'no setting helps, the bridge itself sends no record of this size',
  unencodable: 'no setting helps, the message is not one that a client can send',
  keyless: 'set cleanup.policy of the dead-letter topic to delete',
  'ill-dated': 'compare the clocks of the bridge and the brokers',
};

/** Makes dead letters for `<input topic>.dlq`: the message byte for byte, with the reason in headers. */
export class DeadLetters {
  private readonly logger = new Logger('DeadLetters');
  private lines = { second: 0, count: 0, leftOut: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly topicPrefix: string,
  ) {}

  /**
   * Makes the dead letter, to be written with the message's offset. If its topic accepts smaller records than the
   * input did, it must not stop later messages: its leaner forms name the place of the message in the input topic.
   */
  deadLetterOf(message: InboundRecord, reason: DeadLetterReason): OutboundRecord {
    const { topic, partition, offset } = this.sourceOf(message);
    const { code, detail, machineId, machineIds = machineId && [machineId] } = reason;
    this.logDeadLetter({ topic, partition, offset, code, detail, machineIds });
    const why = this.headersOf(message, reason);
    const omitted = message.unreadable?.omittedBytes;
    if (omitted !== undefined) why[DEAD_LETTER_HEADERS.valueOmitted] = String(omitted);
    const whole: WholeDeadLetter = {
      topic: deadLetterTopic(topic),
      key: message.key,
      value: message.value,
      // Without `dlq-` headers: an input may be a copy of a dead letter, whose reason does not apply to it.
      headers: [...originalHeaders(message.headers), ...Object.entries(why)],
    };
    return {
      ...whole,
      leaner: (refusal) => {
        this.logLack(message, 'value', refusal);
        return {
          ...deadLetterWithoutValue(whole),
          leaner: (secondRefusal) => {
            this.logLack(message, 'value and headers', secondRefusal);
            return truncatedDeadLetter(whole, why);
          },
        };
      },
    };
  }

  /** Above {@link MOST_LINES_A_SECOND}, lines are left out; the next line has their number. */
  private logDeadLetter(fields: object): void {
    const second = Math.floor(realNowMs() / 1000);
    if (second !== this.lines.second) this.lines = { ...this.lines, second, count: 0 };
    if (this.lines.count === MOST_LINES_A_SECOND) {
      this.lines.leftOut += 1;
      return;
    }
    const { leftOut } = this.lines;
    this.lines = { second, count: this.lines.count + 1, leftOut: 0 };
    this.logger.warn({ msg: 'dead letter', ...fields, ...(leftOut > 0 && { leftOut }) });
  }

  private logLack(message: InboundRecord, lacks: string, refusal: RecordRefusedError): void {
    this.logger.error({
      msg: `dead letter without its ${lacks}: ${ADVICE[refusal.code]}`,
      ...{ ...this.sourceOf(message), bytes: message.bytes, error: refusal.message },
    });
  }

  private sourceOf(message: InboundRecord): Pick<InboundRecord, 'topic' | 'partition' | 'offset'> {
    const { topic, partition, offset } = message;
    return { topic: `${this.topicPrefix}${topic}`, partition, offset };
  }

  private headersOf(message: InboundRecord, reason: DeadLetterReason): Record<string, string> {
    const { topic, partition, offset } = this.sourceOf(message);
    const { code, detail, attempts, httpStatus, machineIds } = reason;
    const { traceparent } = reason.trace ?? message.span?.context ?? {};
    const isPassedOn = traceparent === traceContextOf(message.headers)?.traceparent;
    return deadLetterHeaders({
      code,
      detail,
      sourceTopic: topic,
      sourcePartition: partition,
      sourceOffset: String(offset),
      sourceTimestamp: message.timestamp,
      failedAt: this.clock.nowSeconds(),
      attempts,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(machineIds !== undefined && { machineIds }),
      ...(traceparent !== undefined && !isPassedOn && { traceparent }),
    });
  }
}

/** Larger keys and lists are left out of a dead letter that its topic has refused twice. */
const MAX_KEY_BYTES = 1024;
const MAX_MACHINE_IDS_BYTES = 8 * 1024;

/** A dead letter with the whole message; its headers begin with those of the message. */
interface WholeDeadLetter extends OutboundRecord {
  headers: MessageHeaders;
}

/** The dead letter without the message's value, for a topic that refuses it. */
function deadLetterWithoutValue(whole: WholeDeadLetter): OutboundRecord {
  const { valueOmitted } = DEAD_LETTER_HEADERS;
  return { ...whole, value: null, headers: [...whole.headers, [valueOmitted, omitted(whole)]] };
}

/**
 * The dead letter of at most a dozen kilobytes for a topic that refuses it even without the value: the bridge's
 * headers (`why`), and of the message hardly more than its place.
 */
function truncatedDeadLetter(
  whole: WholeDeadLetter,
  why: Readonly<Record<string, string>>,
): OutboundRecord {
  const { detail, machineIds, valueOmitted } = DEAD_LETTER_HEADERS;
  const isKeyLong = Buffer.byteLength(whole.key ?? '') > MAX_KEY_BYTES;
  const areMachinesMany = Buffer.byteLength(why[machineIds] ?? '') > MAX_MACHINE_IDS_BYTES;
  const kept = Object.entries(why).filter(([name]) => !areMachinesMany || name !== machineIds);
  const lacks = [
    'headers',
    ...(isKeyLong ? ['key'] : []),
    ...(areMachinesMany ? ['machines at fault'] : []),
  ].join(', ');
  const headers = {
    ...Object.fromEntries(kept),
    // The missing parts come first, because a long detail is truncated.
    [detail]: printable(`without its ${lacks}; ${why[detail] ?? ''}`),
    [valueOmitted]: omitted(whole),
  };
  return { ...whole, key: isKeyLong ? null : whole.key, value: null, headers };
}

function omitted({ value }: OutboundRecord): string {
  return String(Buffer.byteLength(value ?? ''));
}
