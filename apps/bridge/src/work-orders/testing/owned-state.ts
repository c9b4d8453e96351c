import type { OutboundRecord, InputState, TransactedState } from '#libs/kafka';

/**
 * One partition of state as the bridge gives it out, without Kafka.
 *
 * @param values what it was restored with; stays as it is
 * @param name of its topic, in full
 */
export function ownedState<V>(
  values: ReadonlyMap<string, V> = new Map(),
  { partition = 0, name = 'a-state', lost = new AbortController().signal } = {},
): InputState<V> & TransactedState<V> {
  const now = new Map(values);
  return {
    ...{ partition, signal: lost, lost },
    get: (key) => now.get(key),
    keys: () => now.keys(),
    entries: () => now.entries(),
    commit: () => Promise.reject(new Error('not written in a transaction of its own')),
    put: (key, value): OutboundRecord => {
      if (value === null) now.delete(key);
      else now.set(key, value);
      const text = value === null ? null : JSON.stringify(value);
      return { topic: name, partition, key, value: text, headers: {}, isState: true };
    },
  };
}
