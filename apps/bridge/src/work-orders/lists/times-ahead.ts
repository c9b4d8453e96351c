import type { Logger } from '@nestjs/common';

const MOST_NAMED = 10;

/** Says of times that no clock can have shown yet, taken by an earlier version, that they are not gone by, if any. */
export function warnOfTimesAhead(
  logger: Logger,
  partition: number,
  ids: 'machineIds' | 'orderIds',
  found: readonly string[],
): void {
  if (found.length === 0) return;
  logger.warn({
    msg: 'remembered times lie ahead of the clock and are ignored',
    partition,
    count: found.length,
    [ids]: found.slice(0, MOST_NAMED),
  });
}
