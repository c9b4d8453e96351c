import { randomUUID } from 'node:crypto';
import { abortable } from '#libs/clock';
import type { KafkaMessage } from '../client/kafka-port.js';
import { type OutboundRecord, partitionOf } from '../producer/outbound-record.js';
import { Completion, SilenceWatch } from '../reading/reader.js';

/** Begins the keys of records about a partition. No machine or order is called this: ids hold no control characters. */
const OF_PARTITION = '\u0000';
const MARK_KEY = `${OF_PARTITION}restore-mark`;

/**
 * Reads one partition of a compacted topic from its beginning to a mark that was written after the
 * previous writer had been fenced, and on from there until others have handed over what belongs to it. Waiting for the
 * mark rather than for an offset is what makes the end certain: the last offsets of such a log are transaction markers,
 * which no consumer is shown.
 */
export class Restore {
  readonly mark: OutboundRecord;
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
    this.mark = { topic, partition, key: MARK_KEY, value: this.id, headers: {} };
    this.silence = new SilenceWatch(() => {
      const awaited = this.passedMark.isOver ? this.repartition?.awaited.join(', ') : undefined;
      const before = awaited
        ? `partitions ${awaited} have handed over what belongs to it (has each an owner, of this version?)`
        : 'its mark (a transaction that hangs keeps it back: kafka-transactions.sh finds it)';
      return `${topic}, partition ${partition}, before ${before}`;
    });
  }

  /** Takes records in the order of the log; false once it is at its end. */
  acceptRecords(records: readonly Pick<KafkaMessage, 'key' | 'value'>[]): boolean {
    this.silence.progressSeen();
    for (const { key, value } of records) {
      if (this.ending.isOver) return false;
      if (key === null) continue;
      const name = key.toString();
      if (name === MARK_KEY) {
        if (value?.toString() === this.id) this.passedMark.end();
      } else if (this.repartition?.acceptHandOver(name, value) !== true) {
        if (value === null) this.texts.delete(name);
        else this.texts.set(name, value.toString());
      }
      if (this.passedMark.isOver && this.repartition?.isOver !== false) this.endRestore();
    }
    return !this.ending.isOver;
  }

  /** Nothing is waited for that may come after the mark. */
  endRestore(): void {
    this.ending.end();
  }

  /** The values by key, as stored, once the mark has been passed; more may come. Throws as {@link finished}. */
  marked(signal: AbortSignal): Promise<Map<string, string>> {
    return this.reached(this.passedMark, signal);
  }

  /**
   * The values by key, as stored. @throws the signal's reason, or an Error when nothing has come for 30 s: the mark may
   * be gone, as in a topic that was recreated or emptied
   */
  finished(signal: AbortSignal): Promise<Map<string, string>> {
    return this.reached(this.ending, signal);
  }

  private async reached(point: Completion, signal: AbortSignal): Promise<Map<string, string>> {
    const stopWatching = this.silence.start((error) => point.end(error));
    try {
      await abortable(point.reached, signal);
    } finally {
      stopWatching();
    }
    return this.texts;
  }
}

const HANDED_OVER_BY = `${OF_PARTITION}handed-over-by/`;
/** Bounds how long a transaction lasts; a value is some kilobytes at the most. */
const KEYS_PER_TRANSACTION = 1000;

/** In which partition a key belongs: the hash of the key, over the partitions of a topic. */
export interface KeyPlacement {
  /** Full name; that of the state itself, or of the topic whose partitions it follows. */
  topic: string;
  /** The remedy for an operator when that topic has grown. Without it, values move to where their keys belong. */
  whenGrown?: string;
}

/** Keys belong to other partitions than those they are kept in, and do not move. */
export class TopicGrownError extends Error {}

/**
 * What happens to a partition of keyed state when the topic that shares out its keys gets more partitions: a key
 * that is kept in one may belong to another from then on, with another owner, who must neither miss its value nor
 * begin without it.
 *
 * Each owner, once it has restored its partition, writes what belongs elsewhere into the other partitions and a
 * tombstone for it into its own, in one transaction; the last of these transactions also has a record in each
 * partition, which says that this one has handed over, under so many partitions. A partition is owned only when
 * all have said so. The fence of keyed state makes that safe: whoever owned a partition under the former number
 * cannot write any more once it is restored anew, and a crash leaves a key in one of the two partitions, whole.
 */
export class Repartition {
  /** By partition: under how many partitions it has handed over last. */
  private readonly handedOver = new Map<number, number>();

  constructor(
    private readonly name: string,
    private readonly partition: number,
    private readonly partitions: number,
    private readonly placement: KeyPlacement,
  ) {}

  /** Takes the record that a partition has handed over; returns false for any other. */
  acceptHandOver(key: string, value: Buffer | null): boolean {
    if (!key.startsWith(HANDED_OVER_BY)) return false;
    this.handedOver.set(Number(key.slice(HANDED_OVER_BY.length)), Number(value?.toString()));
    return true;
  }

  /** Whether no other partition keeps a key that belongs here. */
  get isOver(): boolean {
    return this.awaited.length === 0;
  }

  get awaited(): number[] {
    const { partitions } = this;
    return numbers(partitions).filter((number) => this.handedOver.get(number) !== partitions);
  }

  /** How many partitions there were when this one handed over last; undefined when it never has. */
  get partitionsBefore(): number | undefined {
    return this.handedOver.get(this.partition);
  }

  /** What to write, a transaction each; nothing if it is written. @throws TopicGrownError when keys do not move */
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
      // A record about this partition itself does not hold for another one.
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
