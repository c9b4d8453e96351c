import { type ClockOptions, realEpochMs } from '#libs/clock';
import { type EnvironmentReader } from './environment-reader.js';

/**
 * `CLOCK_SPEED` and `CLOCK_ORIGIN`. Without an origin an accelerated clock starts from the moment
 * the settings are read: enough for one process, while two that share a plant need a common origin.
 */
export function readClockSettings(env: EnvironmentReader): Required<ClockOptions> {
  const speed = env.positiveNumber('CLOCK_SPEED') ?? 1;
  const originSeconds = env.positiveNumber('CLOCK_ORIGIN') ?? Math.floor(realEpochMs() / 1000);
  if (speed !== 1 && env.optional('NODE_ENV') === 'production') {
    env.problem('CLOCK_SPEED', 'other than 1 is refused when NODE_ENV is production');
  }
  return { speed, originSeconds };
}
