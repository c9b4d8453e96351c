import {
  type Envelope,
  messageIdOf,
  openEnvelope,
  type OutcomeSource,
  type Parsed,
} from '#libs/contracts';
import { type InboundMessage, type InboundRecord } from '#libs/messaging';

/** The message an outcome answers. */
export interface AnsweredMessage {
  /** Ends when all there is to say has been said. */
  message: InboundMessage;
  /** `ce_id` or `message-id` of the input. */
  messageId: string | null;
  /** The message that is answered, where `message` is one of the bridge's own that it led to. */
  origin?: MessageOrigin;
  /** Machines of the same message are answered elsewhere: a dead letter must name those at fault. */
  namesOthers?: boolean;
  /** Nothing is told of it: what becomes of another message of the bridge's own says it for this one, too. */
  isUntold?: boolean;
}

export interface MessageOrigin {
  source: OutcomeSource;
  /** What is set aside; asked for only then. */
  read: (signal: AbortSignal) => Promise<OriginalMessage>;
}

export interface OriginalMessage {
  record: InboundRecord;
  /** Said beside the reason when `record` is not all of the message. */
  remark?: string;
}

/** Takes a message out of its wrapping and reads it; who has to be answered is known either way. */
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
