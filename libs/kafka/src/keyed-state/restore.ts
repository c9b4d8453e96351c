import { randomUUID } from 'node:crypto';
import { abortable } from '#libs/clock';
import type { KafkaMessage } from '../client/kafka-port.js';
import { type OutboundRecord, partitionOf } from '../producer/outbound-record.js';
import { Completion, SilenceWatch } from '../reading/reader.js';

/** Prefix of the keys of records about a partition itself. Ids of machines and orders contain no control characters. */
const OF_PARTITION = '\u0000';
const MARK_KEY = `${OF_PARTITION}restore-mark`;

/**
 * Reads one partition of a compacted topic from its beginning to a mark that was written after the previous writer
 * had been fenced, and on until other partitions have handed over the keys that belong to it. A mark makes the end
 * certain, an offset does not: the last offsets of such a log are transaction markers, which consumers do not see.
 */
export class Restore {
  readonly mark: OutboundRecord;
  /** Whether the log has no mark of an earlier restore: the topic is new, or not the one that was written. */
  isFirst = true;
  private readonly id = randomUUID();
  private readonly texts = new Map<string, string>();
  private readonly passedMark = new Completion();
  private readonly ending = new Completion();
  private readonly silence: SilenceWatch;

  constructor(
    topic: string,
    partition: number,
    private readonly repartition?: Repartition,
  ) {
    this.mark = { topic, partition, key: MARK_KEY, value: this.id, headers: {}, isState: true };
    this.silence = new SilenceWatch(() => {
      const awaited = this.passedMark.isOver ? this.repartition?.awaited.join(', ') : undefined;
      const before = awaited
        ? `partitions ${awaited} have handed over what belongs to it (has each an owner, of this version?)`
        : 'its mark (a transaction that hangs keeps it back: kafka-transactions.sh finds it)';
      return `${topic}, partition ${partition}, before ${before}`;
    });
  }

  /** Applies records in the order of the log; returns false once the restore has ended. */
  acceptRecords(records: readonly Pick<KafkaMessage, 'key' | 'value'>[]): boolean {
    this.silence.progressSeen();
    for (const { key, value } of records) {
      if (this.ending.isOver) return false;
      if (key === null) continue;
      const name = key.toString();
      if (name === MARK_KEY) {
        if (value?.toString() === this.id) this.passedMark.complete();
        else this.isFirst = false;
      } else if (this.repartition?.acceptHandOver(name, value) !== true) {
        if (value === null) this.texts.delete(name);
        else this.texts.set(name, value.toString());
      }
      if (this.passedMark.isOver && this.repartition?.isOver !== false) this.endRestore();
    }
    return !this.ending.isOver;
  }

  /** Ends the restore without the records awaited after the mark. */
  endRestore(): void {
    this.ending.complete();
  }

  /** Stored values by key once the mark has been read; more may follow. Throws like {@link restoredValues}. */
  valuesAtMark(signal: AbortSignal): Promise<Map<string, string>> {
    return this.valuesAt(this.passedMark, signal);
  }

  /**
   * Stored values by key. @throws the signal's reason, or an Error when nothing has come for 30 s: the mark may be
   * gone, as in a topic that was recreated or emptied
   */
  restoredValues(signal: AbortSignal): Promise<Map<string, string>> {
    return this.valuesAt(this.ending, signal);
  }

  private async valuesAt(point: Completion, signal: AbortSignal): Promise<Map<string, string>> {
    const stopWatching = this.silence.startWatching((error) => point.complete(error));
    try {
      await abortable(point.reached, signal);
    } finally {
      stopWatching();
    }
    return this.texts;
  }
}

const HANDED_OVER_BY = `${OF_PARTITION}handed-over-by/`;
/** Limits the duration of a transaction; a value has some kilobytes at most. */
const KEYS_PER_TRANSACTION = 1000;

/** The partition of a key: its hash over the partitions of a topic. */
export interface KeyPlacement {
  /** Full name of the state's own topic, or of the topic whose partitions it follows. */
  topic: string;
  /** Advice for operators when that topic has grown. Without it, values move to the partitions of their keys. */
  whenGrown?: string;
}

/** Keys no longer belong to the partitions that hold them, and do not move. */
export class TopicGrownError extends Error {}

/**
 * Moves keys of keyed state after the topic that distributes them has got more partitions: a key may then belong to
 * another partition with another owner, which must not begin without its value.
 *
 * Each owner, once it has restored its partition, writes the keys that belong elsewhere into the other partitions and
 * a tombstone for each into its own, in one transaction. The last of these transactions also writes a record to each
 * partition, which states that this partition has handed over under this number of partitions. A partition is owned
 * only when all others have done so. Fencing makes that safe: whoever owned a partition under the former number
 * cannot write once it is restored again, and a crash leaves a key whole in one of the two partitions.
 */
export class Repartition {
  /** By partition: the number of partitions under which it handed over last. */
  private readonly handedOver = new Map<number, number>();

  constructor(
    private readonly name: string,
    private readonly partition: number,
    private readonly partitions: number,
    private readonly placement: KeyPlacement,
  ) {}

  /** Applies the record that a partition has handed over; returns false for any other record. */
  acceptHandOver(key: string, value: Buffer | null): boolean {
    if (!key.startsWith(HANDED_OVER_BY)) return false;
    this.handedOver.set(Number(key.slice(HANDED_OVER_BY.length)), Number(value?.toString()));
    return true;
  }

  /** Whether no other partition holds a key that belongs here. */
  get isOver(): boolean {
    return this.awaited.length === 0;
  }

  get awaited(): number[] {
    const { partitions } = this;
    return numbers(partitions).filter((number) => this.handedOver.get(number) !== partitions);
  }

  /** Number of partitions when this one handed over last; undefined if it never has. */
  get partitionsBefore(): number | undefined {
    return this.handedOver.get(this.partition);
  }

  /** Yields the records of each transaction to write, if it has not been done. @throws TopicGrownError */
  *handOver(texts: ReadonlyMap<string, string>): Generator<OutboundRecord[]> {
    const { partitionsBefore: before, partitions, placement } = this;
    if (before === partitions) return;
    if (placement.whenGrown !== undefined && before !== undefined) {
      throw new TopicGrownError(
        `${placement.topic} has ${partitions} partitions and had ${before}: ${placement.whenGrown}`,
      );
    }
    let records: OutboundRecord[] = [];
    for (const [key, text] of placement.whenGrown === undefined ? texts : []) {
      const target = partitionOf(key, partitions);
      if (target === this.partition) continue;
      // A record about this partition does not apply to another one.
      if (!key.startsWith(OF_PARTITION)) records.push(this.record(target, key, text));
      records.push(this.record(this.partition, key, null));
      if (records.length < 2 * KEYS_PER_TRANSACTION) continue;
      yield records;
      records = [];
    }
    const said = `${HANDED_OVER_BY}${this.partition}`;
    yield [...records, ...numbers(partitions).map((to) => this.record(to, said, `${partitions}`))];
  }

  private record(partition: number, key: string, value: string | null): OutboundRecord {
    return { topic: this.name, partition, key, value, headers: {} };
  }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
