/**
 * The first SIGTERM or SIGINT stops what there is to be stopped and exits 0; a second one exits at once.
 * Imports nothing: it has to be in place before anything else is loaded, which takes most of a second.
 */
export class ExitOnSignals {
  private stop: (signal: NodeJS.Signals) => Promise<void> = () => Promise.resolve();
  private stopping = false;

  constructor() {
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.stopping) process.exit(1);
      this.stopping = true;
      void this.stop(signal).then(() => process.exit(0));
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  }

  /** A signal has come: what fails from now on fails because of the stop. */
  get isStopping(): boolean {
    return this.stopping;
  }

  /** @param stop called once, and never rejects */
  after(stop: (signal: NodeJS.Signals) => Promise<void>): void {
    this.stop = stop;
  }
}
