import { randomUUID } from 'node:crypto';
import { realNowMs } from '#libs/clock';
import {
  describeKafkaFailure,
  type KafkaClient,
  type OutboundRecord,
  type RecordPlace,
  refusalOf,
  TransactionalWriter,
} from '#libs/kafka';
import type { KeyedReceipt, Receipt, RequestLog } from './request-log.js';

/** A record for an input topic, and what its receipt has beside its place. */
export interface ReceiptedRecord {
  record: OutboundRecord & { value: Buffer };
  key: string;
  digest: string;
  isUnclaimed?: true;
  /** Shares its transaction with no other, so that a refusal is its own. */
  isAlone: boolean;
  /** Real milliseconds after which nobody waits for it: it is not begun any more. */
  expiresMs: number;
}

/** The writer has failed: what it had under way is committed or not, which only Kafka knows. It writes no more. */
export class WriterLostError extends Error {
  constructor(
    message: string,
    /** One of the records under way will never be taken. */
    readonly hasRefusedRecord = false,
  ) {
    super(message);
  }
}

/** The record was not begun in time, and is not written. */
export class NotBegunError extends Error {}

interface Pending extends ReceiptedRecord {
  resolve: (receipt: Receipt) => void;
  reject: (error: Error) => void;
}

const MAX_RECORDS = 500;
const MAX_BYTES = 4 * 1024 * 1024;
const OPTIONS = {
  /** What a process that was killed had open holds up those who read committed records for so long, and a check of the broker more. */
  transactionTimeoutMs: 10_000,
  /** Under load one transaction follows the other, and all that come meanwhile wait for it. */
  retryAfterMs: 2,
};

/**
 * Writes records with their receipts: both or neither. What comes while a transaction is under way shares the next one,
 * so that the rate does not depend on how long a transaction takes. Each object is an incarnation of its own, fenced by
 * whoever opens the next one with its transactional id.
 */
export class ReceiptedWriter {
  readonly incarnation = randomUUID();
  private readonly writer: TransactionalWriter;
  private readonly pending: Pending[] = [];
  private lost: WriterLostError | undefined;
  private running: Promise<void> | undefined;

  constructor(
    kafka: KafkaClient,
    transactionalId: string,
    private readonly receiptsRecord: RequestLog['receiptsRecord'],
  ) {
    this.writer = new TransactionalWriter(kafka, transactionalId, OPTIONS);
  }

  /** Fences earlier incarnations: what they had under way is settled once it resolves. */
  async open(): Promise<void> {
    try {
      await this.writer.openWriter();
      await this.writer.fenceEarlierWriters();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  get isLost(): boolean {
    return this.lost !== undefined;
  }

  get problem(): string | undefined {
    return this.lost?.message;
  }

  /**
   * Resolves once the transaction is committed by all in-sync replicas.
   *
   * @throws RecordRefusedError for what Kafka will never take, NotBegunError, or WriterLostError
   */
  write(record: ReceiptedRecord): Promise<Receipt> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    return new Promise((resolve, reject) => {
      this.pending.push({ ...record, resolve, reject });
      this.running ??= this.run().finally(() => {
        this.running = undefined;
      });
    });
  }

  /** Lets what is pending be written, unless the writer is lost. */
  async drain(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  async close(): Promise<void> {
    this.lose('the writer is closed');
    await this.writer.closeWriter();
  }

  private async run(): Promise<void> {
    while (this.pending.length > 0 && this.lost === undefined) {
      const batch = this.takeBatch();
      if (batch.length > 0) await this.writeBatch(batch);
    }
  }

  private takeBatch(): Pending[] {
    const batch: Pending[] = [];
    for (let bytes = 0; batch.length < MAX_RECORDS && bytes < MAX_BYTES;) {
      const next = this.pending.shift();
      if (next === undefined) break;
      if (next.isAlone && batch.length > 0) {
        this.pending.unshift(next);
        break;
      }
      if (next.expiresMs < realNowMs()) {
        next.reject(new NotBegunError('Kafka takes less than is sent'));
        continue;
      }
      bytes += next.record.value.length;
      batch.push(next);
      if (next.isAlone) break;
    }
    return batch;
  }

  private async writeBatch(batch: readonly Pending[]): Promise<void> {
    let receipts: KeyedReceipt[] = [];
    try {
      await this.writer.writeTransaction(
        batch.map(({ record }) => record),
        {
          withPlaces: (places) => {
            receipts = batch.map((it, index) => receiptOf(it, places[index]));
            return [this.receiptsRecord(receipts)];
          },
        },
      );
    } catch (error) {
      const refusal = refusalOf(error);
      const why = describeKafkaFailure(error, { right: 'Write' });
      const lost = this.lose(why, refusal !== undefined);
      for (const { reject } of batch) reject(batch.length === 1 ? (refusal ?? lost) : lost);
      return;
    }
    for (const [index, receipt] of receipts.entries()) batch[index]?.resolve(receipt);
  }

  private lose(why: string, hasRefusedRecord = false): WriterLostError {
    this.lost ??= new WriterLostError(why, hasRefusedRecord);
    for (const { reject } of this.pending.splice(0)) reject(this.lost);
    return this.lost;
  }
}

function receiptOf(
  { key, digest, isUnclaimed }: ReceiptedRecord,
  place: RecordPlace | undefined,
): KeyedReceipt {
  if (place === undefined) throw new Error('a record has no place');
  return { key, ...place, digest, ...(isUnclaimed && { isUnclaimed }) };
}
