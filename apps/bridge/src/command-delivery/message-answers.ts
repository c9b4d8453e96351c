import { Logger } from '@nestjs/common';
import { type InboundMessage, type OutboundRecord } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandResult } from './command-result.js';

const logger = new Logger('MessageAnswers');

/** What is to be written of what became of a message. */
export type RecordsOf = (
  answered: AnsweredMessage,
  results: readonly CommandResult[],
) => readonly OutboundRecord[];

/**
 * Collects what became of the commands of one message, and ends it when all are final. Until then what is applied or
 * superseded is told by itself, so that it is not done again behind younger messages when the message is delivered
 * again; rejections wait, for they share a dead letter.
 */
export class MessageAnswers {
  /** Undefined until there is one: what is pushed onto an empty list takes room for seventeen. */
  private untold: CommandResult[] | undefined;

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

  /** @param item the place of the command in its message, see {@link InboundMessage.isDone} */
  settle(result: CommandResult, item: number): void {
    this.open -= 1;
    if (this.open === 0) this.finish([result]);
    else if (result.kind === 'rejected') (this.untold ??= []).push(result);
    else this.tell(result, item);
  }

  private tell(result: CommandResult, item: number): void {
    try {
      this.message.tell(this.recordsOf(this.answered, [result]), item);
    } catch (error) {
      this.notPublished(error, [result]);
    }
  }

  private finish(last: readonly CommandResult[]): void {
    const { known, untold = [] } = this;
    const before = known.length + untold.length;
    const results = before === 0 ? last : [...known, ...untold, ...last];
    try {
      this.message.finish(this.recordsOf(this.answered, results));
    } catch (error) {
      this.notPublished(error, results);
    }
  }

  /** A bug of ours. Not handled anew: that would make the calls again, which have been answered, behind younger ones. */
  private notPublished(error: unknown, results: readonly CommandResult[]): void {
    const { message } = this;
    const { topic, partition, offset } = message;
    logger.error({ msg: 'outcome not published', topic, partition, offset, results, err: error });
    message.fail(error, true);
  }
}
