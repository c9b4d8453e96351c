import type { OutboundRecord, InputState, TransactedState } from '#libs/kafka';

/**
 * One partition of keyed state, without Kafka.
 *
 * @param values the initial values, which are copied
 * @param name full name of its topic
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
