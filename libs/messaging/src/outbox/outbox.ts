import { Logger } from '@nestjs/common';
import { CompressionTypes, type Kafka } from 'kafkajs';
import { realDelayMs, realEpochMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { OnDemandProducer } from './on-demand-producer.js';
import { type OutboundRecord } from './outbound-record.js';
import { RecordRefusedError, refusalOf } from './record-refused.js';
import { byteLength, takeBatch } from './take-batch.js';

interface Pending {
  record: OutboundRecord;
  bytes: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Below the broker's default of 1 MB for a record batch, since a batch too large is refused as a whole. */
const MAX_BATCH_BYTES = 512 * 1024;
const MIB = 1024 * 1024;
/**
 * A record of this size came compressed, and goes the same way: the broker does not refuse a request beyond
 * `socket.request.max.bytes` (100 MiB), it closes the connection, and one that is sent again would stop all others.
 */
const COMPRESS_FROM_BYTES = 16 * MIB;
/** Never sent: that it can be compressed is not certain, and each try takes several times its size in memory. */
const MAX_RECORD_BYTES = 64 * MIB;
const LINGER_MS = 5;
const BACK_OFF = { baseMs: 200, capMs: 5000 };
/** Failing for longer than this is worth telling an operator. */
const PROBLEM_AFTER_MS = 5000;

/**
 * The way out for outcomes and dead letters. A record is sent until all in-sync replicas have
 * acknowledged it, however long Kafka is away; what comes together is sent together. One request
 * is under way at a time, so records of one key stay in order. At least once: a request whose answer
 * was lost is sent again.
 */
export class Outbox {
  private readonly logger = new Logger('Outbox');
  private readonly producer: OnDemandProducer;
  private readonly pending: Pending[] = [];
  private readonly stopping = new AbortController();
  private flushing = false;
  private readonly whenIdle: (() => void)[] = [];
  /** When the request under way was first sent, in epoch milliseconds. */
  private sendingSinceMs: number | undefined;
  private failing: { sinceMs: number; why: string } | undefined;

  constructor(kafka: Kafka) {
    this.producer = new OnDemandProducer(kafka);
  }

  /**
   * Resolves once the record is acknowledged; rejects when the outbox is closed before.
   *
   * @throws RecordRefusedError when it can never be sent: too large for its topic, or not encodable
   */
  send(record: OutboundRecord): Promise<void> {
    if (this.stopping.signal.aborted) return Promise.reject(this.stopping.signal.reason as Error);
    return new Promise((resolve, reject) => {
      this.pending.push({ record, bytes: byteLength(record), resolve, reject });
      // What comes within a few milliseconds shares a request: one each would cost more than the calls they tell of.
      if (!this.flushing) {
        this.flushing = true;
        void realDelayMs(LINGER_MS).then(() => this.flush());
      }
    });
  }

  /** Why nothing gets out, in words; undefined while records do. */
  get problem(): string | undefined {
    const { failing } = this;
    const lasts = failing !== undefined && realNowMs() - failing.sinceMs >= PROBLEM_AFTER_MS;
    return lasts ? `outcomes and dead letters are not taken: ${failing.why}` : undefined;
  }

  /** Epoch milliseconds: of all that was written before then it is known here that Kafka has it. */
  get toldUntilMs(): number {
    return this.sendingSinceMs ?? realEpochMs();
  }

  /** Resolves once nothing waits to be acknowledged; at once when nothing does. */
  async idle(): Promise<void> {
    while (this.flushing) await new Promise<void>((resolve) => this.whenIdle.push(resolve));
  }

  async close(): Promise<void> {
    this.stopping.abort(new Error('the outbox is closed'));
    for (const { reject } of this.pending.splice(0)) reject(this.stopping.signal.reason as Error);
    await this.producer.discard();
  }

  private async flush(): Promise<void> {
    while (this.pending.length > 0) await this.sendAll(takeBatch(this.pending, MAX_BATCH_BYTES));
    this.flushing = false;
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }

  private async sendAll(batch: readonly Pending[]): Promise<void> {
    this.sendingSinceMs = realEpochMs();
    const refusal = await this.sendUntilAnswered(batch);
    this.sendingSinceMs = undefined;
    if (refusal === undefined) for (const { resolve } of batch) resolve();
    else if (batch.length === 1) batch[0]?.reject(refusal);
    // Refused as a whole: each alone, so that only the one at fault is told.
    else for (const entry of batch) await this.sendAll([entry]);
  }

  /** Returns why it was refused for good, or undefined once it is acknowledged. */
  private async sendUntilAnswered(
    batch: readonly Pending[],
  ): Promise<RecordRefusedError | Error | undefined> {
    const bytes = batch.reduce((sum, entry) => sum + entry.bytes, 0);
    if (bytes > MAX_RECORD_BYTES) return tooLarge(bytes);
    const records = batch.map(({ record }) => record);
    let compression = bytes < COMPRESS_FROM_BYTES ? CompressionTypes.None : CompressionTypes.GZIP;
    for (let attempt = 1; !this.stopping.signal.aborted; attempt += 1) {
      try {
        await this.producer.send(records, compression);
        this.failing = undefined;
        return undefined;
      } catch (error) {
        const refusal = refusalOf(error);
        const isLastTry = compression !== CompressionTypes.None || records.length > 1;
        if (refusal?.code === 'unencodable' || (refusal !== undefined && isLastTry)) return refusal;
        // What came compressed and fitted may fit again when it is compressed.
        if (refusal !== undefined) compression = CompressionTypes.GZIP;
        else await this.backOff(attempt, describeKafkaFailure(error));
      }
    }
    return this.stopping.signal.reason as Error;
  }

  private async backOff(attempt: number, why: string): Promise<void> {
    this.failing = { sinceMs: this.failing?.sinceMs ?? realNowMs(), why };
    this.logger.warn({ msg: 'Kafka did not take records', attempt, error: why });
    await this.producer.discard();
    await realDelayMs(backOffMs(attempt, BACK_OFF), this.stopping.signal).catch(() => undefined);
  }
}

function tooLarge(bytes: number): RecordRefusedError {
  const limit = `${bytes} bytes, of ${MAX_RECORD_BYTES} at most`;
  return new RecordRefusedError('too-large', new Error(limit));
}
