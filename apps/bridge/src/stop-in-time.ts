import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';

/** Ten seconds for calls in flight and a little for leaving; a stop never takes longer, broker or no broker. */
const STOP_DEADLINE_MS = 14_000;
const logger = new Logger('Stop');

/** Stops and says so; never rejects. */
export async function stopInTime(signal: NodeJS.Signals, stop: () => Promise<void>): Promise<void> {
  logger.log({ msg: 'stopping', signal });
  const deadline = realDelayMs(STOP_DEADLINE_MS).then(() => {
    logger.warn({ msg: 'the stop took too long and is cut short', afterMs: STOP_DEADLINE_MS });
  });
  const stopped = stop().catch((error: unknown) => {
    logger.error({ msg: 'the stop met an error', err: error });
  });
  await Promise.race([stopped, deadline]);
  logger.log({ msg: 'stopped' });
}
