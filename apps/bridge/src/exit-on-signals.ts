import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';

/** Ten seconds for calls in flight and a little for leaving; a stop never takes longer, broker or no broker. */
const STOP_DEADLINE_MS = 14_000;

/** The first SIGTERM or SIGINT stops cleanly and exits 0; a second one exits at once. */
export function exitOnSignals(stop: () => Promise<void>): void {
  const logger = new Logger('Stop');
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.log({ msg: 'stopping', signal });
    const deadline = realDelayMs(STOP_DEADLINE_MS).then(() => {
      logger.warn({ msg: 'the stop took too long and is cut short', afterMs: STOP_DEADLINE_MS });
    });
    void Promise.race([stop().catch(logFailure), deadline]).then(() => {
      logger.log({ msg: 'stopped' });
      process.exit(0);
    });
  };
  const logFailure = (error: unknown): void => {
    logger.error({ msg: 'the stop met an error', err: error });
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
