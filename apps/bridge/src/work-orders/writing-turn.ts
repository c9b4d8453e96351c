import { type Statement } from '#libs/messaging';
import { type Entry } from './waiting-entries.js';

/**
 * That messages are being written, and ended with it, for whoever hands their partitions over: that waits for what
 * has begun, so that its commit has it, and nothing begins before it is known who owns them next. What was written
 * and is in no commit would be taken in, and answered, by their next owner again.
 */
export class WritingTurn implements Statement {
  /** Resolves when each of them may be written now, or is lost. */
  readonly begun: Promise<void>;
  private readonly tellings;
  private open: number;
  private resolve: () => void = () => undefined;

  constructor(entries: readonly Entry[]) {
    this.begun = new Promise((resolve) => (this.resolve = resolve));
    this.tellings = new Set(entries.map(({ message }) => message.ownership.telling));
    this.open = this.tellings.size;
    for (const telling of this.tellings) telling.begin(this);
  }

  get mustWait(): boolean {
    return this.open > 0;
  }

  tell(): void {
    this.open -= 1;
    if (this.open === 0) this.resolve();
  }

  /** Those messages are abandoned. */
  giveUp(): void {
    this.tell();
  }

  /** To be called once they have ended, or wait again. */
  end(): void {
    for (const telling of this.tellings) telling.ended(this);
  }
}
