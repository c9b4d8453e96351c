import { type InboundMessage } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandResult } from './command-result.js';

/** Tells what became of a message; resolves once Kafka has acknowledged that. */
export type Publish = (results: readonly CommandResult[]) => Promise<void>;

/** Collects what became of the commands of one message; when all are final, answers it and ends it. */
export class MessageAnswers {
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

  private answer(): void {
    const { message } = this;
    this.publish(this.results).then(
      () => {
        message.finish();
      },
      (error: unknown) => {
        if (message.ownership.isLost) message.abandon();
        else message.fail(error);
      },
    );
  }
}
