import { realDelayMs, withDeadline } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import type { KafkaClient, Producer, Transaction } from '../client/kafka-port.js';
import type { RecordPlace } from '../reading/stored-record.js';
import {
  assertSendable,
  batchesOf,
  compressionOf,
  MAX_BATCH_BYTES,
  type OutboundRecord,
  partitionByKey,
  toTopicMessages,
} from './outbound-record.js';

/** After which the brokers abort a transaction that has not ended. */
export const TRANSACTION_TIMEOUT_MS = 30_000;
const FINISH_DEADLINE_MS = 800;
const DISCONNECT_DEADLINE_MS = 2000;
/** The transaction before is still being ended by the brokers; so often it is asked again, for some seconds in all. */
const ENDING = { attempts: 12, baseMs: 10, capMs: 1000 };

/** How far input is done, with its metadata, committed in the transaction that writes what it led to. */
interface OffsetCommit {
  consumerGroupId: string;
  topics: {
    topic: string;
    partitions: { partition: number; offset: string; metadata: string }[];
  }[];
}

interface WriteOptions {
  commit?: OffsetCommit | undefined;
  /** Adds records that say where the first ones lie, which need a `partition`; a throw aborts the transaction. */
  withPlaces?: (places: readonly RecordPlace[]) => Promise<readonly OutboundRecord[]>;
  isCompressed?: boolean;
  /** Limits the records that are sent together, roughly. */
  maxBatchBytes?: number;
}

/**
 * Writes records in transactions, one after the other, over a connection that it opens at once. Its first write fences
 * every earlier writer with the same transactional id. After a failure it must be closed and another one opened: whether the
 * failed transaction was committed is known only to Kafka.
 */
export class TransactionalWriter {
  private readonly producer: Producer;
  private readonly opening: Promise<void>;
  private previous: Promise<void>;

  /**
   * @param transactionTimeoutMs after which the brokers abort a transaction that has not ended
   * @param retryAfterMs first wait for the brokers to end the transaction before: what one right after another takes
   * longer
   */
  constructor(
    kafka: KafkaClient,
    transactionalId: string,
    { transactionTimeoutMs = TRANSACTION_TIMEOUT_MS, retryAfterMs = 10 } = {},
  ) {
    this.producer = kafka.producer({
      // Its transactions are idempotent by themselves. `idempotent` would have it take another producer id, for none.
      transactionalId,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: partitionByKey,
      transactionTimeout: transactionTimeoutMs,
      // A transaction right after another is answered CONCURRENT_TRANSACTIONS: retried after this.
      retry: { initialRetryTime: retryAfterMs, maxRetryTime: 2000, retries: 10 },
    });
    this.opening = this.producer.connect();
    this.previous = this.opening;
    // It is the first write that fails.
    this.opening.catch(() => undefined);
  }

  /**
   * Fences earlier writers: what they had under way is decided then. Open transactions of others may still hold the
   * stable offset below its records.
   */
  fenceEarlierWriters(): Promise<void> {
    return this.writeTransaction([]);
  }

  /** Commits all records and the progress of their input, or none of it; a call waits for those before it. */
  writeTransaction(records: readonly OutboundRecord[], options: WriteOptions = {}): Promise<void> {
    const write = this.previous.then(() => this.transact(records, options));
    this.previous = write.catch(() => undefined);
    return write;
  }

  /** Lets the writes under way end, for a moment at most. */
  async closeWriter(): Promise<void> {
    // A transaction cut off stays open: until the next writer fences it, or the broker gives it up, who reads
    // what is committed alone sees nothing that comes after it in the partition.
    const hasEnded = await withDeadline(this.previous, FINISH_DEADLINE_MS);
    // A producer that is disconnected while it connects would connect all the same, and be left behind.
    const opened = this.opening.catch(() => undefined);
    const closed = opened.then(() => this.producer.disconnect());
    await withDeadline(closed, DISCONNECT_DEADLINE_MS);
    // kafkajs connects again for the tries that it has left, until the next writer has fenced it.
    if (!hasEnded) void this.previous.then(() => this.producer.disconnect()).catch(() => undefined);
  }

  private async transact(
    records: readonly OutboundRecord[],
    { commit, withPlaces, ...together }: WriteOptions,
  ): Promise<void> {
    for (const record of records) assertSendable(record);
    const transaction = await this.producer.transaction();
    try {
      const sent = await sendRecords(transaction, records, together);
      if (withPlaces !== undefined) {
        await sendRecords(transaction, await withPlaces(sent.flatMap(placesOf)), together);
      }
      if (commit !== undefined) await sendOffset(transaction, commit);
      await transaction.commit();
    } catch (error) {
      // Spares the coordinator the wait for the time-out; a new writer's fence would abort it too.
      await transaction.abort().catch(() => undefined);
      throw error;
    }
  }
}

type Answers = Awaited<ReturnType<Transaction['sendBatch']>>;

interface SentBatch {
  batch: readonly OutboundRecord[];
  answers: Answers;
}

async function sendRecords(
  transaction: Transaction,
  records: readonly OutboundRecord[],
  { isCompressed = false, maxBatchBytes = MAX_BATCH_BYTES }: WriteOptions,
): Promise<SentBatch[]> {
  const compression = compressionOf(isCompressed);
  const sent: SentBatch[] = [];
  for (const batch of batchesOf(records, maxBatchBytes)) {
    const topicMessages = toTopicMessages(batch);
    const answers = await transaction.sendBatch({ acks: -1, compression, topicMessages });
    sent.push({ batch, answers });
  }
  return sent;
}

/** Where the records lie that were given a partition. */
function placesOf({ batch, answers }: SentBatch): RecordPlace[] {
  // records of a partition are one record batch in a request, in their order
  const next = new Map(
    answers.map((answer) => [`${answer.topicName}/${answer.partition}`, Number(answer.baseOffset)]),
  );
  const places: RecordPlace[] = [];
  for (const { topic, partition } of batch) {
    if (partition === undefined) continue;
    const key = `${topic}/${partition}`;
    const offset = next.get(key);
    if (offset === undefined) throw new Error(`the broker has not said where ${key} has it`);
    next.set(key, offset + 1);
    places.push({ topic, partition, offset });
  }
  return places;
}

/** kafkajs waits for the transaction before to end where it sends records, but not here. */
async function sendOffset(transaction: Transaction, offsets: OffsetCommit): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await transaction.sendOffsets(offsets);
      return;
    } catch (error) {
      const { type } = error as { type?: unknown };
      if (type !== 'CONCURRENT_TRANSACTIONS' || attempt === ENDING.attempts) throw error;
      await realDelayMs(backOffMs(attempt, ENDING));
    }
  }
}
