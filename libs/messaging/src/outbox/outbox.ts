import { Logger } from '@nestjs/common';
import { realDelayMs, realEpochMs } from '#libs/clock';
import { type Kafka } from '../kafkajs.js';
import { type OutboundRecord } from './outbound-record.js';
import { type Receipt } from './receipt.js';
import { RequestSender } from './request-sender.js';
import { byteLength, MAX_BATCH_BYTES, takeBatch } from './take-batch.js';

interface Pending {
  record: OutboundRecord;
  bytes: number;
  receipt: Receipt;
}

/** What comes within a few milliseconds shares a request: one each would cost more than the calls they tell of. */
const LINGER_MS = 10;

/**
 * The way out for outcomes and dead letters. A record is sent until all in-sync replicas have
 * acknowledged it, however long Kafka is away; what comes together is sent together. One request
 * is under way at a time, so records of one key stay in order. At least once: a request whose answer
 * was lost is sent again.
 */
export class Outbox {
  private readonly logger = new Logger('Outbox');
  private readonly stopping = new AbortController();
  private readonly sender: RequestSender;
  private readonly pending: Pending[] = [];
  private pendingBytes = 0;
  private flushing = false;
  private readonly whenIdle: (() => void)[] = [];
  /** When the request under way was first sent, in epoch milliseconds. */
  private sendingSinceMs: number | undefined;

  /** @param lingerMs real milliseconds that a request waits for company, unless it is full */
  constructor(
    kafka: Kafka,
    private readonly lingerMs = LINGER_MS,
    private readonly delay: (ms: number) => Promise<void> = realDelayMs,
  ) {
    this.sender = new RequestSender(kafka, this.stopping.signal);
  }

  /** Takes the record; the receipt hears what became of it, at once when the outbox is closed. */
  post(record: OutboundRecord, receipt: Receipt): void {
    if (this.stopping.signal.aborted) {
      receipt.refused(this.stopping.signal.reason as Error);
      return;
    }
    const bytes = byteLength(record);
    this.pending.push({ record, bytes, receipt });
    this.pendingBytes += bytes;
    if (!this.flushing) void this.flush();
  }

  /**
   * Resolves once the record is acknowledged; rejects when the outbox is closed before.
   *
   * @throws RecordRefusedError when it can never be sent: too large for its topic, or not encodable
   */
  send(record: OutboundRecord): Promise<void> {
    return new Promise((acknowledged, refused) => {
      this.post(record, { acknowledged, refused });
    });
  }

  /** Why nothing gets out, in words; undefined while records do. */
  get problem(): string | undefined {
    return this.sender.problem;
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
    this.tell(this.takePending(Infinity), this.stopping.signal.reason as Error);
    await this.sender.disconnect();
  }

  private async flush(): Promise<void> {
    this.flushing = true;
    while (this.pending.length > 0) {
      if (this.pendingBytes < MAX_BATCH_BYTES) await this.delay(this.lingerMs);
      await this.sendAll(this.takePending(MAX_BATCH_BYTES));
    }
    this.flushing = false;
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }

  private takePending(maxBytes: number): Pending[] {
    const batch = takeBatch(this.pending, maxBytes);
    this.pendingBytes -= totalBytes(batch);
    return batch;
  }

  /** Nothing at all, where the outbox was closed while the batch waited for company. */
  private async sendAll(batch: readonly Pending[]): Promise<void> {
    if (batch.length === 0) return;
    const records = batch.map(({ record }) => record);
    this.sendingSinceMs = realEpochMs();
    const refusal = await this.sender.sendUntilAnswered(records, totalBytes(batch));
    this.sendingSinceMs = undefined;
    if (refusal === undefined || batch.length === 1) this.tell(batch, refusal);
    // Refused as a whole: each alone, so that only the one at fault is told.
    else for (const entry of batch) await this.sendAll([entry]);
  }

  /** One that throws, which is a bug of ours, must not keep the others from hearing. */
  private tell(batch: readonly Pending[], refusal: Error | undefined): void {
    for (const { record, receipt } of batch) {
      try {
        if (refusal === undefined) receipt.acknowledged();
        else receipt.refused(refusal);
      } catch (error) {
        const { topic } = record;
        this.logger.error({ msg: 'what became of a record was not taken in', topic, err: error });
      }
    }
  }
}

function totalBytes(batch: readonly Pending[]): number {
  let total = 0;
  for (const { bytes } of batch) total += bytes;
  return total;
}
