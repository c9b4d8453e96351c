import { Clock, type ClockOptions, realEpochMs } from '#libs/clock';
import { FIRST_IMPLAUSIBLE_SECOND } from '#libs/contracts';
import type { EnvironmentReader } from './environment-reader.js';

const SPEED = 'CLOCK_SPEED';
const ORIGIN = 'CLOCK_ORIGIN';

/** At this speed a timer of a minute takes 1 ms, the shortest that setTimeout knows. */
const MAX_SPEED = 60_000;

/**
 * Reads `CLOCK_SPEED` and `CLOCK_ORIGIN`. Without an origin an accelerated clock starts when the settings are read.
 * That suffices for one process; two that share a plant need a common origin.
 */
export function readClockSettings(env: EnvironmentReader): Required<ClockOptions> {
  const speed = env.positiveNumber(SPEED, MAX_SPEED) ?? 1;
  const originSeconds = readOrigin(env) ?? Math.floor(realEpochMs() / 1000);
  if (env.optional('NODE_ENV') === 'production') {
    const why = 'refused when NODE_ENV is production';
    if (speed !== 1) env.refuse(SPEED, `other than 1 is ${why}`);
    if (env.isSet(ORIGIN)) env.refuse(ORIGIN, `is ${why}`);
  }
  const nowSeconds = new Clock({ speed, originSeconds }).nowSeconds();
  if (nowSeconds < 0 || nowSeconds >= FIRST_IMPLAUSIBLE_SECOND) {
    env.refuse(ORIGIN, `is too far from now: at ${SPEED} the clock is not within 1970 to 5138`);
  }
  return { speed, originSeconds };
}

function readOrigin(env: EnvironmentReader): number | undefined {
  const raw = env.optional(ORIGIN);
  if (raw === undefined) return undefined;
  const seconds = Number(raw);
  if (/^\d+$/.test(raw) && seconds > 0 && seconds < FIRST_IMPLAUSIBLE_SECOND) return seconds;
  env.refuse(ORIGIN, 'must be epoch seconds: a whole number, and not milliseconds');
  return undefined;
}
