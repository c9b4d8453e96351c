import type { EnvironmentReader } from './environment-reader.js';

const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d$/;

export function readShifts(env: EnvironmentReader, startsName: string, timeZoneName: string) {
  const startTimes = env.list(startsName, ['06:00', '14:00', '22:00']);
  if (startTimes.length === 0 || !startTimes.every((time) => TIME_OF_DAY.test(time))) {
    env.refuse(startsName, 'must be times of day such as 06:00,14:00,22:00');
  }
  return {
    /** IANA name. */
    timeZone: env.timeZone(timeZoneName),
    /** Local times of day such as `06:00`, sorted; a shift ends when the next one starts. */
    startTimes: [...startTimes].sort(),
  };
}
