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
  /** Calls made to the service before it was given up. */
  attempts: number;
  httpStatus?: number;
  /** The machines at fault, of a message that names several. */
  machineIds?: readonly string[];
  /** Where it was rejected, in traces; by default in the span of the message. */
  trace?: TraceContext;
}

/** A batch may hold 100,000 rejected records, whose lines would wait in memory for a slow reader of the log. */
const MOST_LINES_A_SECOND = 100;

/** What to do about a dead letter that lacks something. */
const ADVICE: Record<RecordRefusedError['code'], string> = {
  'too-large': 'raise max.message.bytes of the dead-letter topic',
  'beyond-bound': 'no setting helps, the bridge itself sends no record of this size',
  unencodable: 'no setting helps, the message is not one that a client can send',
  keyless: 'set cleanup.policy of the dead-letter topic to delete',
  'ill-dated': 'compare the clocks of the bridge and the brokers',
};

/** Writes messages to `<input topic>.dlq`, byte for byte, with the reason in headers. */
export class DeadLetters {
  private readonly logger = new Logger('DeadLetters');
  private lines = { second: 0, count: 0, leftOut: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly topicPrefix: string,
  ) {}

  /**
   * The dead letter, for whoever writes it with the message's offset. A topic that takes less than the input's did must
   * not stop everything behind this message: then the dead letter's leaner forms say where the message lies, in a topic
   * that still has it.
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
      // An input may have been copied from a dead letter: what was wrong then is not what is wrong now.
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

  /** Beyond {@link MOST_LINES_A_SECOND} the next line says how many had none. */
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

/** Larger ones are left out of a dead letter that its topic has refused twice. */
const MAX_KEY_BYTES = 1024;
const MAX_MACHINE_IDS_BYTES = 8 * 1024;

/** A dead letter with all of its message: its headers, and then what the bridge says. */
interface WholeDeadLetter extends OutboundRecord {
  headers: MessageHeaders;
}

/** Of a dead letter that is too large for its topic: the same without the message's value. */
function deadLetterWithoutValue(whole: WholeDeadLetter): OutboundRecord {
  const { valueOmitted } = DEAD_LETTER_HEADERS;
  return { ...whole, value: null, headers: [...whole.headers, [valueOmitted, omitted(whole)]] };
}

/**
 * Of one that is too large even without its value: what the bridge says (`why`), and of the message hardly more than
 * where it lies. A dozen kilobytes at most.
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
    // What it lacks comes first, because a long detail is cut.
    [detail]: printable(`without its ${lacks}; ${why[detail] ?? ''}`),
    [valueOmitted]: omitted(whole),
  };
  return { ...whole, key: isKeyLong ? null : whole.key, value: null, headers };
}

function omitted({ value }: OutboundRecord): string {
  return String(Buffer.byteLength(value ?? ''));
}
