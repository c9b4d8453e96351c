import { type InboundMessage, type Statement } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandResult } from './command-result.js';

/** Tells what became of a message; resolves once Kafka has acknowledged that. */
export type Publish = (results: readonly CommandResult[]) => Promise<void>;

/** Collects what became of the commands of one message; when all are final, answers it as soon as that may be told, and ends it. */
export class MessageAnswers implements Statement {
  private readonly results: CommandResult[];

  /** @param open commands still to be settled, beside what is `known` already */
  constructor(
    readonly answered: AnsweredMessage,
    private open: number,
    known: readonly CommandResult[],
    private readonly publish: Publish,
  ) {
    this.results = [...known];
    if (open === 0) this.answer();
  }

  get message(): InboundMessage {
    return this.answered.message;
  }

  settle(result: CommandResult): void {
    this.results.push(result);
    this.open -= 1;
    if (this.open === 0) this.answer();
  }

  /** For {@link Telling}. */
  async tell(): Promise<void> {
    const { message } = this;
    try {
      await this.publish(this.results);
    } catch (error) {
      if (message.ownership.isLost) message.abandon();
      else message.fail(error);
      return;
    }
    message.finish();
  }

  giveUp(): void {
    this.message.abandon();
  }

  private answer(): void {
    this.message.ownership.telling.begin(this);
  }
}
