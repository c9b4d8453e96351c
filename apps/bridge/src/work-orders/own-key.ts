import { randomInt } from 'node:crypto';

/** Of this process, which counts: eight digits and a count are made sooner than random ones for each record. */
const WRITER = randomInt(10 ** 8)
  .toString()
  .padStart(8, '0');
let made = 0;

/**
 * Another one each time, whatever the prefix: what is written again before what was written first is done
 * with must not be taken for it.
 */
export function ownKey(prefix: string): string {
  made += 1;
  return `${prefix}/${WRITER}-${made}`;
}
