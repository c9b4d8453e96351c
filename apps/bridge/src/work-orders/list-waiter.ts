import { type CommandResult } from '../command-delivery/index.js';

/**
 * A message that waits to hear what became of its list. When its signal aborts it gives up at once,
 * unless a call with its list is under way: that one is waited for, since its result will be true.
 */
export class ListWaiter {
  readonly result: Promise<CommandResult>;
  private isUnderWay = false;
  private resolve: (result: CommandResult) => void = () => undefined;
  private reject: (reason: Error) => void = () => undefined;

  constructor(
    private readonly signal: AbortSignal,
    private readonly progress: { calls: number },
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Whoever waits may come to it only after it has failed.
    this.result.catch(() => undefined);
    // A signal that has aborted already never says so again.
    if (signal.aborted) this.giveUpIfIdle();
    else signal.addEventListener('abort', this.giveUpIfIdle, { once: true });
  }

  get hasGivenUp(): boolean {
    return this.signal.aborted;
  }

  callBegins(): void {
    this.isUnderWay = true;
    this.progress.calls += 1;
  }

  /** The call told nothing final: it failed, or was refused together with others and is made again. */
  callWasInVain(): void {
    this.isUnderWay = false;
    if (this.signal.aborted) this.giveUpIfIdle();
  }

  /** Takes the final result, made from the number of calls with the list. */
  settle(result: (attempts: number) => CommandResult): void {
    this.signal.removeEventListener('abort', this.giveUpIfIdle);
    this.resolve(result(this.progress.calls));
  }

  private readonly giveUpIfIdle = (): void => {
    if (!this.isUnderWay) this.reject(this.signal.reason as Error);
  };
}
