import { Logger } from '@nestjs/common';
import { type InboundMessage, type Receipt, type Statement } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandResult } from './command-result.js';

const logger = new Logger('MessageAnswers');

/** Tells what became of a message; the receipt hears once Kafka has acknowledged all of that. */
export type Publish = (
  answered: AnsweredMessage,
  results: readonly CommandResult[],
  receipt: Receipt,
) => void;

/**
 * Collects what became of the commands of one message; when all are final, answers it as soon as that may be
 * told, and ends it when Kafka has the answer. It is all that waits for these in one object, for there are
 * tens of thousands of messages a second.
 */
export class MessageAnswers implements Statement, Receipt {
  /** Undefined until there is one: what is pushed onto an empty list takes room for seventeen. */
  private settled: CommandResult[] | undefined;

  /** @param open commands still to be settled, beside what is `known` already */
  constructor(
    readonly answered: AnsweredMessage,
    private open: number,
    private readonly known: readonly CommandResult[],
    private readonly publish: Publish,
  ) {
    if (open === 0) this.answer();
  }

  get message(): InboundMessage {
    return this.answered.message;
  }

  settle(result: CommandResult): void {
    if (this.settled === undefined) this.settled = [result];
    else this.settled.push(result);
    this.open -= 1;
    if (this.open === 0) this.answer();
    else this.message.doneInPart();
  }

  /** For {@link Telling}. */
  tell(): void {
    try {
      this.publish(this.answered, this.results(), this);
    } catch (error) {
      this.refused(error);
    }
  }

  giveUp(): void {
    this.message.abandon();
  }

  /** All that there was to tell is acknowledged; or it was told before, or there was nothing. */
  acknowledged(): void {
    const { message } = this;
    try {
      message.finish();
    } finally {
      message.ownership.telling.ended(this);
    }
  }

  refused(error: unknown): void {
    const { message } = this;
    try {
      if (message.ownership.isLost) message.abandon();
      else this.notPublished(error);
    } finally {
      message.ownership.telling.ended(this);
    }
  }

  /** Not handled anew: that would make the calls again, which have been answered, behind younger ones. */
  private notPublished(error: unknown): void {
    const { message } = this;
    const { topic, partition, offset } = message;
    const results = this.results();
    logger.error({ msg: 'outcome not published', topic, partition, offset, results, err: error });
    message.fail(error, true);
  }

  private answer(): void {
    this.message.ownership.telling.begin(this);
  }

  private results(): readonly CommandResult[] {
    const { known, settled } = this;
    if (settled === undefined) return known;
    return known.length === 0 ? settled : [...known, ...settled];
  }
}
