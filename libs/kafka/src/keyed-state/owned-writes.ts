import { abortable } from '#libs/clock';
import { type OutboundRecord } from '../producer/outbound-record.js';
import { type KeyedStateOptions } from './keyed-state-options.js';
import { type StateChange } from './owned-state.js';
import { type StoredValues } from './stored-values.js';
import { type TransactionalWriter } from './transactional-writer.js';

/** A change on its way to Kafka, and the text it is kept as. */
type StateRecord = OutboundRecord & { key: string; value: string | null };

/** A transaction whose fate only Kafka knows. */
export interface FailedWrite {
  error: unknown;
  /** Those it wrote to. */
  topics: readonly string[];
}

/** The writes to one partition from the moment it is restored; ends with the first that fails. */
export class OwnedWrites<V> {
  /** Aborts with the first write that fails, or when the partition is lost or to be restored anew. */
  readonly signal: AbortSignal;
  failed: FailedWrite | undefined;
  private readonly broken = new AbortController();

  constructor(
    private readonly partition: number,
    private readonly options: Pick<KeyedStateOptions<V>, 'name' | 'format'>,
    private readonly state: StoredValues<V>,
    private readonly writer: TransactionalWriter,
    ending: AbortSignal,
    private readonly onWritten: (topics: ReadonlySet<string>) => void,
  ) {
    this.signal = AbortSignal.any([ending, this.broken.signal]);
  }

  /** See {@link OwnedState.put}. */
  put(key: string, value: V | null): OutboundRecord {
    const record = this.toRecord([key, value]);
    this.state.put(key, record.value);
    return record;
  }

  async commit(
    changes: readonly StateChange<V>[],
    records: readonly OutboundRecord[],
  ): Promise<void> {
    this.signal.throwIfAborted();
    const topics = new Set(records.map(({ topic }) => topic));
    if (changes.length > 0) topics.add(this.options.name);
    let written: readonly StateRecord[];
    try {
      written = changes.map((change) => this.toRecord(change));
      // A broker that falls silent while the partition is lost would keep a write waiting for ever.
      await abortable(this.writer.write([...written, ...records]), this.signal);
    } catch (error) {
      this.failed ??= { error, topics: [...topics] };
      this.broken.abort(error);
      throw error;
    }
    for (const { key, value } of written) this.state.put(key, value);
    this.onWritten(topics);
  }

  private toRecord([key, value]: StateChange<V>): StateRecord {
    const { name, format } = this.options;
    const json = value === null || format === undefined ? value : format(value);
    const text = json === null ? null : JSON.stringify(json);
    return { topic: name, partition: this.partition, key, value: text, headers: {}, isState: true };
  }
}
