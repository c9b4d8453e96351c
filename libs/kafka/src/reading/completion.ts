import { everyRealMs, realNowMs } from '#libs/clock';

/** How something that runs by callbacks comes to its end, once: well, or with an error. */
export class Completion {
  isOver = false;
  private settle: (error: Error | undefined) => void = () => undefined;
  /** Resolves or rejects with the first word of how it ended. */
  readonly reached = new Promise<void>((resolve, reject) => {
    this.settle = (error) => {
      if (error === undefined) resolve();
      else reject(error);
    };
  });

  end(error?: Error): void {
    this.isOver = true;
    this.settle(error);
  }
}

/** Longer than a rebalance takes, in which nothing is fetched. */
const SILENCE_MS = 30_000;
const CHECK_MS = 1000;

/** Notices that a read which is not at its end yet gets nowhere any more. */
export class SilenceWatch {
  private lastSignMs = realNowMs();

  /** @param where is what is read, and how far it has come, in words */
  constructor(private readonly where: () => string) {}

  progressSeen(): void {
    this.lastSignMs = realNowMs();
  }

  /** Calls `onSilence` each second in which there has been no sign for 30 s, until the returned function is called. */
  start(onSilence: (error: Error) => void): () => void {
    this.progressSeen();
    return everyRealMs(CHECK_MS, () => {
      if (realNowMs() - this.lastSignMs < SILENCE_MS) return;
      const since = `${SILENCE_MS / 1000} s`;
      onSilence(new Error(`Kafka says nothing more since ${since}: ${this.where()}`));
    });
  }
}
