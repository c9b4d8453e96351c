import { type OutboundRecord } from '../producer/outbound-record.js';
import { partitionOf } from '../producer/partition-of.js';

/** Begins the keys of records about a partition; no machine or order is called this. */
const OF_PARTITION = '\u0000';
const HANDED_OVER_BY = `${OF_PARTITION}handed-over-by/`;
/** Bounds how long a transaction lasts; a value is some kilobytes at the most. */
const KEYS_PER_TRANSACTION = 1000;

/** In which partition a key belongs: the hash of the key, over the partitions of a topic. */
export interface KeyPlacement {
  /** Full name; that of the state itself, or of the topic whose partitions it follows. */
  topic: string;
  /** What an operator is to do when that topic has grown. Without it, values move to where their keys belong. */
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

  /** Partitions that have not handed over yet. */
  get awaited(): number[] {
    const { partitions } = this;
    return numbers(partitions).filter((number) => this.handedOver.get(number) !== partitions);
  }

  /** How many partitions there were when this one handed over last; undefined when it never has. */
  get partitionsBefore(): number | undefined {
    return this.handedOver.get(this.partition);
  }

  /**
   * What to write, a transaction each; nothing when it is written already.
   *
   * @throws TopicGrownError when the keys of this state do not move
   */
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
