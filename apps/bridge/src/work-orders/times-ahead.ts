import { type Logger } from '@nestjs/common';

const MOST_NAMED = 10;

/** Says that times that no clock can have shown yet, taken by an earlier version, are not gone by. */
export function warnOfTimesAhead(
  logger: Logger,
  partition: number,
  ids: 'machineIds' | 'orderIds',
  found: readonly string[],
): void {
  logger.warn({
    msg: 'remembered times lie ahead of the clock and are ignored',
    partition,
    count: found.length,
    [ids]: found.slice(0, MOST_NAMED),
  });
}
