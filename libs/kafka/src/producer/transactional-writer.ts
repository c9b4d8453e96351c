import { realDelayMs, withDeadline } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import type { KafkaClient, Producer, Transaction } from '../client/kafka-port.js';
import { partitionName, type RecordPlace } from '../reading/stored-record.js';
import {
  assertSendable,
  batchesOf,
  MAX_BATCH_BYTES,
  type OutboundRecord,
  partitionByKey,
  toProducerBatch,
} from './outbound-record.js';
import { type StateLogs, stateLogsOf } from './state-logs.js';

/** Time after which the brokers abort a transaction that has not ended. */
const TRANSACTION_TIMEOUT_MS = 30_000;
/**
 * Wait after that time-out. Brokers look every ten seconds for transactions to abort: one that takes longer is most
 * likely aborted, while kafkajs resends its records for minutes. Only Kafka knows whether it was committed.
 */
const GIVEN_UP_AFTER_MS = 10_000;
/**
 * Brokers abort a long transaction, for example under a quota or over a slow line. After a failure that took this
 * long, records are sent in fewer bytes.
 */
export const LONG_TRANSACTION_MS = 10_000;
const FINISH_DEADLINE_MS = 800;
const DISCONNECT_DEADLINE_MS = 2000;
/** Retries while the brokers are still ending the previous transaction, for some seconds in all. */
const ENDING = { attempts: 12, baseMs: 10, capMs: 1000 };

/** The offset of an input and its metadata, committed in the transaction of the records. */
interface OffsetCommit {
  consumerGroupId: string;
  topics: {
    topic: string;
    partitions: { partition: number; offset: string; metadata: string }[];
  }[];
}

interface WriteOptions {
  commit?: OffsetCommit | undefined;
  /** Makes further records from the places of the first, which need a `partition`; a throw aborts the transaction. */
  withPlaces?: (places: readonly RecordPlace[]) => Promise<readonly OutboundRecord[]>;
  isCompressed?: boolean;
  /** Rough limit of the records sent together. */
  maxBatchBytes?: number;
}

/**
 * Writes records in transactions, one at a time, over a connection that it opens at once. Its first write fences
 * earlier writers with the same transactional id. After a failure it must be closed and a new one opened: only Kafka
 * knows whether the failed transaction was committed.
 */
export class TransactionalWriter {
  private readonly producer: Producer;
  private readonly opening: Promise<void>;
  private readonly givenUpMs: number;
  private previous: Promise<void>;
  private readonly stateLogs: StateLogs;

  /**
   * @param transactionTimeoutMs time after which the brokers abort a transaction that has not ended
   * @param retryAfterMs first wait while the brokers still end the previous transaction
   */
  constructor(
    kafka: KafkaClient,
    transactionalId: string,
    { transactionTimeoutMs = TRANSACTION_TIMEOUT_MS, retryAfterMs = 10 } = {},
  ) {
    this.producer = kafka.producer({
      // Transactions are idempotent anyway; `idempotent` would make kafkajs request a second producer id for nothing.
      transactionalId,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: partitionByKey,
      transactionTimeout: transactionTimeoutMs,
      // A transaction right after another is answered CONCURRENT_TRANSACTIONS; kafkajs retries after this.
      retry: { initialRetryTime: retryAfterMs, maxRetryTime: 2000, retries: 10 },
    });
    this.stateLogs = stateLogsOf(kafka);
    this.givenUpMs = transactionTimeoutMs + GIVEN_UP_AFTER_MS;
    this.opening = this.producer.connect();
    this.previous = this.opening;
    // The first write reports the failure.
    this.opening.catch(() => undefined);
  }

  /**
   * Fences earlier writers: their transactions are then committed or aborted. Open transactions of other producers
   * may still hold the last stable offset below its records.
   */
  fenceEarlierWriters(): Promise<void> {
    return this.writeTransaction([]);
  }

  /**
   * Commits all records and the offset of their input, or nothing; runs after earlier calls. @throws also if Kafka has
   * not ended the transaction ten seconds after its time-out
   */
  async writeTransaction(
    records: readonly OutboundRecord[],
    options: WriteOptions = {},
  ): Promise<void> {
    const turn = this.previous;
    const write = turn.then(() => this.runTransaction(records, options));
    this.previous = write.catch(() => undefined);
    await turn;
    if (await withDeadline(write, this.givenUpMs)) return write;
    const limit = `${this.givenUpMs / 1000} s`;
    throw new Error(
      `Kafka has not ended it within ${limit}: a slow line, a quota, or a broker that hangs`,
    );
  }

  /** Lets writes in flight end, for a moment at most. */
  async closeWriter(): Promise<void> {
    // A transaction that is cut off stays open until the next writer fences it or the broker aborts it. Until then,
    // readers of committed records see nothing after it in its partitions.
    const hasEnded = await withDeadline(this.previous, FINISH_DEADLINE_MS);
    // A producer that is disconnected while it connects would connect all the same, and leak.
    const opened = this.opening.catch(() => undefined);
    const closed = opened.then(() => this.producer.disconnect());
    await withDeadline(closed, DISCONNECT_DEADLINE_MS);
    // kafkajs reconnects for its remaining retries, until the next writer has fenced it.
    if (!hasEnded) void this.previous.then(() => this.producer.disconnect()).catch(() => undefined);
  }

  private async runTransaction(
    records: readonly OutboundRecord[],
    { commit, withPlaces, ...together }: WriteOptions,
  ): Promise<void> {
    for (const record of records) assertSendable(record);
    const transaction = await this.producer.transaction();
    try {
      const sent = await this.sendRecords(transaction, records, together);
      if (withPlaces !== undefined) {
        await this.sendRecords(transaction, await withPlaces(sent.flatMap(placesOf)), together);
      }
      if (commit !== undefined) await sendOffset(transaction, commit);
      await transaction.commit();
    } catch (error) {
      // Saves the coordinator the wait for the time-out; the fence of a new writer would abort it too.
      await transaction.abort().catch(() => undefined);
      throw error;
    }
  }

  private async sendRecords(
    transaction: Transaction,
    records: readonly OutboundRecord[],
    { isCompressed = false, maxBatchBytes = MAX_BATCH_BYTES }: WriteOptions,
  ): Promise<SentBatch[]> {
    const sent: SentBatch[] = [];
    for (const batch of batchesOf(records, maxBatchBytes)) {
      const ends = this.stateLogs.endsOf(batch);
      const answers = await transaction.sendBatch(toProducerBatch(batch, isCompressed));
      this.stateLogs.recordsStored(ends, answers);
      sent.push({ batch, answers });
    }
    return sent;
  }
}

type Answers = Awaited<ReturnType<Transaction['sendBatch']>>;

interface SentBatch {
  batch: readonly OutboundRecord[];
  answers: Answers;
}

/** Places of the records with an explicit partition. */
function placesOf({ batch, answers }: SentBatch): RecordPlace[] {
  // In a request, the records of a partition are one record batch, in order.
  const next = new Map(
    answers.map(({ topicName, partition, baseOffset }) => {
      return [partitionName(topicName, partition), Number(baseOffset)];
    }),
  );
  const places: RecordPlace[] = [];
  for (const { topic, partition } of batch) {
    if (partition === undefined) continue;
    const key = partitionName(topic, partition);
    const offset = next.get(key);
    if (offset === undefined) throw new Error(`the broker has not said where ${key} has it`);
    next.set(key, offset + 1);
    places.push({ topic, partition, offset });
  }
  return places;
}

/** Retries while the previous transaction is ending, which kafkajs does only for records. */
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
