import type { Consumer, IHeaders, Kafka } from './stock-kafkajs.js';

/** A record as kafkajs has read it, with the topic's full name. */
export interface CommittedRecord {
  topic: string;
  partition: number;
  offset: number;
  timestamp: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: IHeaders;
}

/** A fetched message, in kafkajs's batches but not in their types: also markers and aborted records. */
export interface RawMessage extends Pick<CommittedRecord, 'timestamp' | 'key' | 'value'> {
  offset: string;
  headers?: IHeaders;
  isControlRecord?: boolean;
  batchContext?: { producerId: string; inTransaction: boolean };
}

const FETCH_BYTES = 32 * 1024 * 1024;
const MARKER_TYPE_AT = 2;
const COMMIT = 1;

/**
 * Reads topics from their beginning and hands on committed records, in the order of each partition. The reader itself
 * decides by the markers of transactions in the log which records are committed: kafkajs hands on aborted records if
 * aborted transactions of several producers overlap, as after a killed process.
 */
export class CommittedReader {
  private readonly consumer: Consumer;
  private readonly logs = new Map<string, PartitionLog>();

  constructor(
    kafka: Kafka,
    groupId: string,
    private readonly onRecord: (record: CommittedRecord) => void,
  ) {
    this.consumer = kafka.consumer({
      groupId,
      maxWaitTimeInMs: 100,
      maxBytesPerPartition: FETCH_BYTES,
      maxBytes: FETCH_BYTES,
    });
  }

  async start(topics: readonly string[]): Promise<void> {
    const { consumer } = this;
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, batchSize, lastOffset } = payload;
      // eachBatch does not get markers and aborted records
      if (batchSize === 0) this.skipped(topic, partition, Number(lastOffset) + 1);
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await consumer.run({
      eachBatch: ({ batch }) => {
        const { topic, partition } = batch;
        const { rawMessages } = batch as unknown as { rawMessages: readonly RawMessage[] };
        for (const raw of this.logOf(topic, partition).decide(rawMessages)) {
          const { timestamp, key, value, headers = {} } = raw;
          const offset = Number(raw.offset);
          this.onRecord({ topic, partition, offset, timestamp, key, value, headers });
        }
        return Promise.resolve();
      },
    });
  }

  /** All committed records of a partition before this offset have been handed on. */
  positionOf(topic: string, partition: number): number {
    return this.logOf(topic, partition).position;
  }

  async stop(): Promise<void> {
    await this.consumer.disconnect();
  }

  /** Fetches records again, together with their marker, if the marker was among records that were not shown. */
  private skipped(topic: string, partition: number, end: number): void {
    const log = this.logOf(topic, partition);
    if (!log.skipTo(end)) {
      this.consumer.seek({ topic, partition, offset: String(log.position) });
    }
  }

  private logOf(topic: string, partition: number): PartitionLog {
    const key = `${topic}/${partition}`;
    const log = this.logs.get(key) ?? new PartitionLog();
    this.logs.set(key, log);
    return log;
  }
}

/** Fetched records of a partition that are not decided: a transaction's records wait for its marker. */
export class PartitionLog {
  private undecided: RawMessage[] = [];
  /** The offset after the last decided record. */
  position = 0;

  /** Returns the records that are now known to be committed, in order. */
  decide(fetched: readonly RawMessage[]): RawMessage[] {
    const known = this.undecided.at(-1);
    const from = known === undefined ? this.position : Number(known.offset) + 1;
    const log = [...this.undecided, ...fetched.filter(({ offset }) => Number(offset) >= from)];
    const committed = verdictsOf(log);
    const open = committed.indexOf(undefined);
    const decided = open < 0 ? log.length : open;
    this.undecided = log.slice(decided);
    const last = log[decided - 1];
    if (last !== undefined) this.position = Number(last.offset) + 1;
    return log.filter((_, index) => index < decided && committed[index] === true);
  }

  /**
   * Skips offsets up to `end`, which hold no records for readers. Returns false if earlier records still wait for their
   * marker.
   */
  skipTo(end: number): boolean {
    const isDecided = this.undecided.length === 0;
    if (isDecided) this.position = Math.max(this.position, end);
    this.undecided = [];
    return isDecided;
  }
}

/** Whether each record is committed; undefined while its transaction has no marker yet. */
function verdictsOf(log: readonly RawMessage[]): (boolean | undefined)[] {
  const isCommitted = new Map<string, boolean>();
  const verdicts: (boolean | undefined)[] = [];
  // from the end: the next marker of its producer decides on a record
  for (const { key, isControlRecord, batchContext } of [...log].reverse()) {
    const { producerId = '', inTransaction = false } = batchContext ?? {};
    if (isControlRecord === true) {
      isCommitted.set(producerId, key?.readInt16BE(MARKER_TYPE_AT) === COMMIT);
      verdicts.push(false);
    } else {
      verdicts.push(inTransaction ? isCommitted.get(producerId) : true);
    }
  }
  return verdicts.reverse();
}
