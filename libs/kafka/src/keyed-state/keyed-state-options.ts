import { type Kafka } from '#libs/kafkajs-patches';
import { type OwnedState } from './owned-state.js';
import { type KeyPlacement } from './repartition.js';

export interface KeyedStateOptions<V> {
  kafka: Kafka;
  /** Full name of a compacted topic of the bridge's own. */
  name: string;
  /** Input topics, without the prefix, whose messages wait until the same partition is restored. */
  inputs?: readonly string[];
  /** Set where the hash of a key decides in which partition it belongs; else it is kept in the one its input came through. */
  placement?: KeyPlacement;
  /** Two processes never use the same transactional id at the same time for long: the later one fences the earlier. */
  transactionalIdPrefix: string;
  /**
   * What a value is stored as, JSON, and kept as in memory: arrays rather than objects, whose text is fields' names by half.
   * Without it, the value as it is.
   */
  format?: (value: V) => unknown;
  /** Turns what is stored back into the value, each time it is asked for; undefined for what cannot be read. */
  parse: (json: unknown) => V | undefined;
  /** Called each time a partition is owned and restored; `state.signal` aborts when that ends. */
  onOwned: (state: OwnedState<V>) => void;
}
