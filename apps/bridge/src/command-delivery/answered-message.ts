import { type Envelope, messageIdOf, openEnvelope, type Parsed } from '#libs/contracts';
import { type InboundMessage } from '#libs/messaging';

/** The message an outcome answers. */
export interface AnsweredMessage {
  message: InboundMessage;
  /** `ce_id` or `message-id` of the input. */
  messageId: string | null;
}

/** Takes a message out of its wrapping and reads it; who has to be answered is known either way. */
export function openMessage<T>(
  message: InboundMessage,
  parse: (envelope: Envelope) => Parsed<T>,
): { answered: AnsweredMessage; parsed: Parsed<T> } {
  const envelope = openEnvelope(message);
  if (!envelope.ok) {
    return { answered: { message, messageId: messageIdOf(message.headers) }, parsed: envelope };
  }
  const { messageId } = envelope.value;
  return { answered: { message, messageId }, parsed: parse(envelope.value) };
}
