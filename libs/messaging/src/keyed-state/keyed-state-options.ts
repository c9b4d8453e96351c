import { type Kafka } from 'kafkajs';
import { type OwnedState } from './owned-state.js';

export interface KeyedStateOptions<V> {
  kafka: Kafka;
  /** Full name of a compacted topic of the bridge's own. */
  name: string;
  /** Input topics, without the prefix, whose messages wait until the same partition is restored. */
  inputs?: readonly string[];
  /** Two processes never use the same transactional id at the same time for long: the later one fences the earlier. */
  transactionalIdPrefix: string;
  /** Turns a stored value back into state; undefined drops what cannot be read. */
  parse: (json: unknown) => V | undefined;
  /** Called each time a partition is owned and restored; `state.signal` aborts when that ends. */
  onOwned: (state: OwnedState<V>) => void;
}
