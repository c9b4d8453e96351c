import { type OwnedState } from '#libs/messaging';

/** State of a partition that holds nothing, until it is lost. */
export function emptyState(partition: number, lost: AbortSignal): OwnedState<number> {
  const values = new Map<string, number>();
  return {
    partition,
    signal: lost,
    lost,
    get: () => undefined,
    keys: () => values.keys(),
    entries: () => values.entries(),
    commit: () => Promise.resolve(),
  };
}
