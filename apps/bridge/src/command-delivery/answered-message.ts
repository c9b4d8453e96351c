import {
  type Envelope,
  messageIdOf,
  openEnvelope,
  type OutcomeSource,
  type Parsed,
} from '#libs/contracts';
import { type InboundMessage, type InboundRecord, type OutboundRecord } from '#libs/messaging';
import { type RejectedResult } from './command-result.js';

/** A message that is answered, as far as what is said of it goes. */
export interface Answered {
  message: InboundRecord;
  /** `ce_id` or `message-id` of the input. */
  messageId: string | null;
  /** The message that is answered, where `message` is one of the bridge's own that it led to. */
  origin?: MessageOrigin;
  /** It names machines beside those at fault: a dead letter must say which these are. */
  namesOthers?: boolean;
  /** Nothing is told of it: what becomes of another message of the bridge's own says it for this one, too. */
  isUntold?: boolean;
  /** Said beside the reason it is set aside for. */
  remark?: string;
}

/** The message an outcome answers. */
export interface AnsweredMessage extends Answered {
  /** Ends when all there is to say has been said. */
  message: InboundMessage;
}

interface MessageOrigin {
  source: OutcomeSource;
  /** What takes the faults to whoever sets the message aside, and tells of them. */
  refusal: (faults: readonly RejectedResult[]) => OutboundRecord;
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
