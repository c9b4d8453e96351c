import type { KafkaClient } from '../client/kafka-port.js';
import type { OutboundRecord } from '../producer/outbound-record.js';
import type { KeyPlacement } from './restore.js';

/** `H` holds a partition, see `onOwned`. */
export interface KeyedStateOptions<V, H = void> {
  kafka: KafkaClient;
  /** Full name of a compacted topic of the bridge's own. */
  name: string;
  /** Full names of input topics whose messages wait until the same partition is restored. */
  inputs?: readonly string[];
  /** Set where the hash of a key decides on its partition; else it is kept in the one its input came through. */
  placement?: KeyPlacement;
  /** Two processes never use the same transactional id at the same time for long: the later one fences the earlier. */
  transactionalIdPrefix: string;
  /**
   * What a value is stored as, JSON, and kept as in memory: arrays rather than objects, whose text is fields' names by
   * half. Without it, the value as it is.
   */
  format?: (value: V) => unknown;
  /** Turns what is stored back into the value, each time it is asked for; undefined for what cannot be read. */
  parse: (json: unknown) => V | undefined;
  /**
   * Called each time a partition is owned and restored; `state.signal` aborts when that ends. Returns what is to hold
   * the partition until it is lost.
   */
  onOwned: (state: InputState<V> & TransactedState<V>) => H;
}

/** A change of state: the new value of a key, or null to forget it. */
export type StateChange<V> = readonly [key: string, value: V | null];

/**
 * The state of one partition for as long as this process owns it. Single writer: whoever was handed
 * it by `onOwned`, until `signal` aborts.
 */
interface OwnedState<V> {
  readonly partition: number;
  readonly signal: AbortSignal;
  /** Aborts when the partition is revoked; `signal` alone aborts when it is only restored again. */
  readonly lost: AbortSignal;
  /** The number of partitions that keys are hashed over; absent where keys are not hashed. */
  readonly partitions?: number | undefined;
  get(key: string): V | undefined;
  /** Cheaper than {@link entries}, which reads the values as well. */
  keys(): IterableIterator<string>;
  entries(): IterableIterator<[string, V]>;
}

/** State that follows from messages of {@link KeyedStateOptions.inputs}, and is written with what becomes of them. */
export interface InputState<V> extends OwnedState<V> {
  /**
   * Changes what {@link get} shows at once, and returns the record of it: to be written in the transaction of the
   * message that led to it. Until that is committed the message is not done, and whoever owns the partition next begins
   * without both.
   *
   * @param value null to forget the key
   */
  put(key: string, value: V | null): OutboundRecord;
}

/** State that is written in transactions of its own. */
export interface TransactedState<V> extends OwnedState<V> {
  /**
   * Writes changes and the records they led to in one transaction: all of it becomes visible, or
   * none. On success the changes show in {@link get}.
   *
   * @throws when it is not known to be committed; `signal` has aborted then, and the partition is
   *   restored again from Kafka
   */
  commit(changes: readonly StateChange<V>[], records: readonly OutboundRecord[]): Promise<void>;
}
