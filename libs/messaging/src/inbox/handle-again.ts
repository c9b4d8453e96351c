import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { type MessageHandler } from './inbound-message.js';
import { type PartitionMessage } from './partition-message.js';
import { type Statement } from './telling.js';

type SetAside = (message: PartitionMessage) => Promise<void>;

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
      return;
    }
  } catch (failure) {
    failAgain(message, failure);
    return;
  }
  ownership.telling.begin(new LastResort(message, setAside));
}

/** Sets the message aside; a dead letter tells of it as well. */
class LastResort implements Statement {
  constructor(
    private readonly message: PartitionMessage,
    private readonly setAside: SetAside,
  ) {}

  tell(): void {
    void this.write();
  }

  giveUp(): void {
    this.message.abandon();
  }

  private async write(): Promise<void> {
    const { message } = this;
    try {
      await this.setAside(message);
      message.finish();
    } catch (failure) {
      failAgain(message, failure);
    } finally {
      message.ownership.telling.ended(this);
    }
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
