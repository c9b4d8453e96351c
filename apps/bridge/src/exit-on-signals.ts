/**
 * The first SIGTERM or SIGINT stops what there is to be stopped and exits 0; a second one exits at once.
 * Imports nothing: it has to be in place before anything else is loaded, which takes most of a second.
 */
export class ExitOnSignals {
  /** A signal has come: what fails from now on fails because of the stop. */
  isStopping = false;
  private stop: (signal: NodeJS.Signals) => Promise<void> = () => Promise.resolve();

  constructor() {
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.isStopping) process.exit(1);
      this.isStopping = true;
      void this.stop(signal).then(() => process.exit(0));
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  }

  /** @param stop called once, and never rejects */
  after(stop: (signal: NodeJS.Signals) => Promise<void>): void {
    this.stop = stop;
  }
}
