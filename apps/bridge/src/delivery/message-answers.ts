import { Logger } from '@nestjs/common';
import {
  type Envelope,
  messageIdOf,
  openEnvelope,
  type OutcomeSource,
  type Parsed,
  type Rejection,
} from '#libs/contracts';
import {
  type InboundMessage,
  type InboundRecord,
  type OutboundRecord,
  type RecordRefusedError,
  type WhenRefused,
} from '#libs/kafka';

/** What the result of a list that has been applied says of it. */
export interface SetList {
  workingOrders?: readonly string[] | undefined;
  /** Epoch seconds: it was issued then or later. Undefined where nothing is known of that. */
  issuedAt?: number | undefined;
}

interface ResultBase {
  /** null when the message names none that is readable, or none at all. */
  machineId: string | null;
  /** The order it is about, where {@link Answered.orderId} does not say it. */
  orderId?: string;
  attempts: number;
}

/** What became of a command for one machine. */
export type CommandResult =
  | (ResultBase & { kind: 'applied'; appliedAt: number } & SetList)
  | (ResultBase & { kind: 'superseded'; detail: string })
  | (ResultBase & { kind: 'rejected'; rejection: Rejection; httpStatus?: number });

export type RejectedResult = Extract<CommandResult, { kind: 'rejected' }>;

/** A refusal before any call; of the machine that the reason names, unless another one is given. */
export function rejection(
  reason: Rejection,
  machineId: string | null = reason.machineId ?? null,
): CommandResult {
  return { kind: 'rejected', machineId, attempts: 0, rejection: reason };
}

/** Of a message whose records Kafka refuses, however often they are sent. */
export function notTaken(
  { code }: Pick<RecordRefusedError, 'code'>,
  machineId: string | null = null,
): CommandResult {
  const tooLarge = 'what is to be remembered of it is larger than its topic takes';
  return code === 'unencodable' || code === 'ill-dated'
    ? notHandled(machineId)
    : rejection({ code: 'too-large', detail: tooLarge }, machineId);
}

/** Of a message that a bug of ours does not let be handled. */
export function notHandled(machineId: string | null = null): CommandResult {
  const detail = 'the bridge could not handle this message; its log says why';
  return rejection({ code: 'invalid-message', detail }, machineId);
}

/** A message that gets an outcome, and what its records say of it. */
export interface Answered {
  message: InboundRecord;
  /** `ce_id` or `message-id` of the input. */
  messageId: string | null;
  /** The order that all is about that is said of it. */
  orderId?: string;
  /** The message that is answered, where `message` is one of the bridge's own that it led to. */
  origin?: MessageOrigin;
  /** The message names machines beside those at fault: a dead letter must say which these are. */
  namesOthers?: boolean | undefined;
  /** Its outcome has been published already: none is now. */
  isAnswered?: boolean;
  /** Added to the detail of its dead letter. */
  remark?: string;
  /** State records of a result, written in one transaction with its outcome. */
  toRemember?: (result: CommandResult) => readonly OutboundRecord[];
}

/** The message an outcome answers. */
export interface AnsweredMessage extends Answered {
  /** Ends when all there is to say has been said. */
  message: InboundMessage;
  /** What to write in place of what it ends with, where Kafka refuses that. */
  whenRefused?: WhenRefused;
}

interface MessageOrigin {
  source: OutcomeSource;
  /** The record that takes faults to the partition of the message, whose owner dead-letters it. */
  refusal: (faults: readonly RejectedResult[]) => OutboundRecord;
}

/** Opens the envelope of a message and parses its body. */
export function openMessage<T>(
  message: InboundMessage,
  parse: (envelope: Envelope) => Parsed<T>,
): { answered: AnsweredMessage; parsed: Parsed<T> } {
  const { unreadable } = message;
  const envelope = unreadable
    ? { ok: false as const, rejection: unreadable.rejection }
    : openEnvelope(message);
  if (!envelope.ok) {
    return { answered: { message, messageId: messageIdOf(message.headers) }, parsed: envelope };
  }
  const { messageId } = envelope.value;
  return { answered: { message, messageId }, parsed: parse(envelope.value) };
}

const logger = new Logger('MessageAnswers');

/** The records of a message's results. */
export type RecordsOf = (
  answered: AnsweredMessage,
  results: readonly CommandResult[],
) => readonly OutboundRecord[];

/**
 * Collects the results of the commands of one message, and ends it when all are final. Until then an applied or
 * superseded command is published by itself, so that it is not done again behind newer messages after a redelivery;
 * rejections wait, for they share a dead letter.
 */
export class MessageAnswers {
  /** Undefined until there is one: what is pushed onto an empty list takes room for seventeen. */
  private rejected: CommandResult[] | undefined;

  /** @param open commands still to be settled, beside what is `known` already */
  constructor(
    readonly answered: AnsweredMessage,
    private open: number,
    private readonly known: readonly CommandResult[],
    private readonly recordsOf: RecordsOf,
  ) {
    if (open === 0) this.finish([]);
  }

  get message(): InboundMessage {
    return this.answered.message;
  }

  /** @param item the place of the command in its message, see {@link InboundMessage.isItemDone} */
  settleCommand(result: CommandResult, item: number): void {
    this.open -= 1;
    if (this.open === 0) this.finish([result]);
    else if (result.kind === 'rejected') (this.rejected ??= []).push(result);
    else this.publish(result, item);
  }

  private publish(result: CommandResult, item: number): void {
    try {
      this.message.publish(this.recordsOf(this.answered, [result]), item);
    } catch (error) {
      this.notPublished(error, [result]);
    }
  }

  private finish(last: readonly CommandResult[]): void {
    const { known, rejected = [] } = this;
    const before = known.length + rejected.length;
    const results = before === 0 ? last : [...known, ...rejected, ...last];
    try {
      const { message, whenRefused } = this.answered;
      message.finish(this.recordsOf(this.answered, results), whenRefused);
    } catch (error) {
      this.notPublished(error, results);
    }
  }

  /** After a bug of ours. The message is not handled again: its calls, which were answered, would follow newer ones. */
  private notPublished(error: unknown, results: readonly CommandResult[]): void {
    const { message } = this;
    const { topic, partition, offset } = message;
    logger.error({ msg: 'outcome not published', topic, partition, offset, results, err: error });
    message.fail(error, true);
  }
}

/** Accepts messages one by one: one that fails, by a bug of ours, does not keep the others from being accepted. */
export function acceptEach(
  messages: readonly InboundMessage[],
  accept: (message: InboundMessage) => void,
): void {
  for (const message of messages) {
    try {
      accept(message);
    } catch (error) {
      message.fail(error);
    }
  }
}
