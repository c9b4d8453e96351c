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
import type { KeyedReceipt, RequestLog } from './request-log.js';
import type { Claim, Receipt } from './request-table.js';

/** A record for an input topic, and the content of its receipt apart from the place. */
interface ReceiptedRecord {
  record: OutboundRecord & { value: Buffer };
  key: string;
  digest: string;
  /** The claim of a fenced incarnation, to be replaced; `none` if the record needs no claim. */
  replaces: Claim | undefined | 'none';
  /** Shares its transaction with no other record, so that a refusal is its own. */
  isAlone: boolean;
  /** Its transaction was aborted because of a claim; together with claims that may not hold this could repeat. */
  wasAborted: boolean;
  /** Real milliseconds after which nobody waits for it, and it is not begun. */
  expiresMs: number;
}

/** The writer has failed and writes no more; whether its pending records are committed is known only to Kafka. */
export class WriterLostError extends Error {
  constructor(
    message: string,
    /** Kafka will never accept one of the pending records. */
    readonly hasRefusedRecord = false,
  ) {
    super(message);
  }
}

/** Another incarnation holds a claim, or the claims were not read back in time: nothing is written. */
export class NotClaimedError extends Error {}

export class NotBegunError extends Error {}

interface Pending extends ReceiptedRecord {
  resolve: (receipt: Receipt) => void;
  reject: (error: Error) => void;
}

const MAX_RECORDS = 500;
const MAX_BYTES = 4 * 1024 * 1024;
/**
 * Claims are read back after a second if each request to Kafka takes half a second. The wait also delays readers of the
 * input topics, and up to twice, of its five seconds, a request without a claim in the same transaction.
 */
const CLAIMS_READ_WITHIN_MS = 1500;
const OPTIONS = {
  /** Until then, and the broker's next check, a killed process's transaction blocks read-committed readers. */
  transactionTimeoutMs: 10_000,
  /** Under load transactions follow each other, and all records that arrive meanwhile wait. */
  retryAfterMs: 2,
};

/**
 * Writes records with their receipts: both or neither, and neither unless this incarnation holds the claims. Records
 * that arrive during a transaction share the next one, so that the rate does not depend on the duration of a
 * transaction. Each object is an incarnation; opening another one with its transactional id fences it.
 */
export class ReceiptedWriter {
  readonly incarnation = randomUUID();
  private readonly writer: TransactionalWriter;
  private readonly pending: Pending[] = [];
  /** Records of an aborted transaction that need no claim any more: they go first, without others. */
  private readonly aborted: Pending[] = [];
  /** Why it writes no more. */
  lost: WriterLostError | undefined;
  private running: Promise<void> | undefined;

  constructor(
    kafka: KafkaClient,
    private readonly transactionalId: string,
    private readonly log: RequestLog,
  ) {
    this.writer = new TransactionalWriter(kafka, transactionalId, OPTIONS);
  }

  /** Fences earlier incarnations: once it resolves, their transactions are committed or aborted. */
  async fenceEarlierIncarnations(): Promise<void> {
    try {
      await this.writer.fenceEarlierWriters();
    } catch (error) {
      await this.stopWriting();
      throw error;
    }
  }

  /**
   * Resolves once the transaction is committed by all in-sync replicas.
   *
   * @throws RecordRefusedError for what Kafka will never take, NotClaimedError, NotBegunError, or WriterLostError
   */
  writeReceipted(record: ReceiptedRecord): Promise<Receipt> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    return new Promise((resolve, reject) => {
      const goesFirst = record.wasAborted && (record.replaces === 'none' || this.hasClaim(record));
      (goesFirst ? this.aborted : this.pending).push({ ...record, resolve, reject });
      this.running ??= this.writeBatches();
    });
  }

  /** Waits until pending records are written, or the writer is lost. */
  async drainPending(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  async stopWriting(): Promise<void> {
    this.failWriter('the writer is closed');
    await this.writer.closeWriter();
  }

  private async writeBatches(): Promise<void> {
    while (this.aborted.length + this.pending.length > 0 && this.lost === undefined) {
      // lets all records join that an aborted transaction or a new incarnation has released in this turn: the first
      // alone would get a transaction that may outlast the others' wait where Kafka is slow
      await new Promise(setImmediate);
      await this.writeBatch(this.takeBatch(this.aborted.length > 0 ? this.aborted : this.pending));
    }
    // synchronously after the last check of the loop
    this.running = undefined;
  }

  private takeBatch(pending: Pending[]): Pending[] {
    const batch: Pending[] = [];
    for (let bytes = 0; batch.length < MAX_RECORDS && bytes < MAX_BYTES;) {
      const next = pending.shift();
      if (next === undefined) break;
      if (next.isAlone && batch.length > 0) {
        pending.unshift(next);
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
    if (batch.length === 0) return;
    let receipts: KeyedReceipt[] = [];
    const claimed = batch.filter(({ replaces }) => replaces !== 'none');
    const claiming = this.claimRecords(claimed);
    try {
      await this.writer.writeTransaction(
        batch.map(({ record }) => record),
        {
          withPlaces: async (places) => {
            await claiming;
            if (!claimed.every((record) => this.hasClaim(record))) throw new NotClaimedError();
            receipts = batch.map((it, index) => receiptOf(it, places[index]));
            return [this.log.receiptsRecord(receipts)];
          },
        },
      );
    } catch (error) {
      const why = this.failureOf(error, batch.length);
      for (const { reject } of batch) reject(why);
      return;
    }
    for (const [index, receipt] of receipts.entries()) batch[index]?.resolve(receipt);
  }

  /** Runs concurrently with sending the records. */
  private async claimRecords(records: readonly Pending[]): Promise<void> {
    const claims = records.flatMap(({ key, replaces }) =>
      replaces === 'none' || this.hasClaim({ key }) ? [] : [{ key, replaces }],
    );
    const { incarnation, transactionalId } = this;
    if (claims.length === 0) return;
    await this.log.writeClaims(claims, { transactionalId, incarnation }, CLAIMS_READ_WITHIN_MS);
  }

  private hasClaim({ key }: Pick<ReceiptedRecord, 'key'>): boolean {
    return this.log.holderOf(key)?.incarnation === this.incarnation;
  }

  /** Unless claims do not hold, only Kafka knows whether the transaction is committed. */
  private failureOf(error: unknown, count: number): Error {
    if (error instanceof NotClaimedError) return error;
    const refusal = refusalOf(error);
    const why = describeKafkaFailure(error, { right: 'Write' });
    const lost = this.failWriter(why, refusal !== undefined);
    return count === 1 ? (refusal ?? lost) : lost;
  }

  private failWriter(why: string, hasRefusedRecord = false): WriterLostError {
    this.lost ??= new WriterLostError(why, hasRefusedRecord);
    for (const queue of [this.aborted, this.pending]) {
      for (const { reject } of queue.splice(0)) reject(this.lost);
    }
    return this.lost;
  }
}

function receiptOf(
  { key, digest, replaces }: ReceiptedRecord,
  place: RecordPlace | undefined,
): KeyedReceipt {
  if (place === undefined) throw new Error('a record has no place');
  return { key, ...place, digest, ...(replaces === 'none' && { isUnclaimed: true }) };
}
