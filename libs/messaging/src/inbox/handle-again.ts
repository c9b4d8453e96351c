import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { type MessageHandler } from './inbound-message.js';
import { type PartitionMessage } from './partition-message.js';

type SetAside = (message: PartitionMessage) => void;

const ATTEMPTS = 3;
const BACK_OFF = { baseMs: 100, capMs: 2000 };
const logger = new Logger('Inbox');

/**
 * Handles a message anew, by itself, after something failed that no message can cause; sets it aside
 * when that has happened too often, because one message must neither stop those behind it nor end the
 * process. One whose calls have been answered is set aside at once. Never rejects.
 */
export async function handleAgain(
  message: PartitionMessage,
  error: unknown,
  handle: MessageHandler,
  setAside: SetAside,
): Promise<void> {
  const { topic, partition, offset, failures, ownership } = message;
  if (!ownership.isLost) {
    logger.error({ msg: 'handler failed', topic, partition, offset, failures, err: error });
  }
  try {
    await realDelayMs(backOffMs(failures, BACK_OFF), ownership.signal);
    if (failures < ATTEMPTS && !message.isAnswered) {
      message.handledAnew();
      await handle([message]);
    } else {
      setAside(message);
    }
  } catch (failure) {
    failAgain(message, failure);
  }
}

function failAgain(message: PartitionMessage, failure: unknown): void {
  if (message.ownership.isLost) {
    message.abandon();
    return;
  }
  message.handledAnew();
  message.fail(failure);
}
