import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { type DeadLetters } from '../outbox/dead-letters.js';
import { type InboundMessage, type MessageHandler } from './inbound-message.js';

const ATTEMPTS = 3;
const BACK_OFF = { baseMs: 100, capMs: 2000 };
const logger = new Logger('Inbox');

/**
 * Guards a handler. What a message can cause is answered inside the handler, so an exception is a
 * bug of ours: the message is tried again and then set aside, because one message must neither stop
 * those behind it nor end the process.
 *
 * @throws the reason of `message.signal`, when it aborts: the message is not finished
 */
export async function deliverMessage(
  message: InboundMessage,
  handle: MessageHandler,
  deadLetters: Pick<DeadLetters, 'publish'>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await handle(message);
      return;
    } catch (error) {
      message.signal.throwIfAborted();
      const { topic, partition, offset } = message;
      logger.error({ msg: 'handler failed', topic, partition, offset, attempt, err: error });
      if (attempt >= ATTEMPTS) break;
      await realDelayMs(backOffMs(attempt, BACK_OFF), message.signal);
    }
  }
  const detail = 'the bridge could not handle this message; its log says why';
  await deadLetters.publish(message, { code: 'invalid-message', detail, attempts: 0 });
}
