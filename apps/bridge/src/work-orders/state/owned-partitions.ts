import type { Logger } from '@nestjs/common';
import type { InputState } from '#libs/kafka';

/** One holder for each partition of keyed state, from when that is restored until it is lost. */
export class OwnedPartitions<V, H> {
  private readonly holders = new Map<number, H>();

  constructor(private readonly create: (state: InputState<V>) => H) {}

  /** Takes over a partition that has just been restored. */
  readonly own = (state: InputState<V>): void => {
    const { partition, lost } = state;
    const holder = this.create(state);
    this.holders.set(partition, holder);
    const release = (): void => {
      if (this.holders.get(partition) === holder) this.holders.delete(partition);
    };
    lost.addEventListener('abort', release, { once: true });
  };

  /** Undefined once the partition is lost: its messages wait until it is restored. */
  get(partition: number): H | undefined {
    return this.holders.get(partition);
  }

  all(): Iterable<H> {
    return this.holders.values();
  }
}

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
