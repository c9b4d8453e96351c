import type { Logger } from '@nestjs/common';

const MOST_NAMED = 10;

/** Warns of remembered times that no clock can have shown yet, which an earlier version stored: they are ignored. */
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
