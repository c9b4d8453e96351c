import { Logger } from '@nestjs/common';
import { type Kafka, Partitioners, type Producer } from 'kafkajs';
import { realDelayMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { withDeadline } from '../deadline.js';
import { type OutboundRecord } from './outbound-record.js';
import { byteLength, takeBatch } from './take-batch.js';
import { toTopicMessages } from './to-topic-messages.js';

interface Pending {
  record: OutboundRecord;
  bytes: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Below the broker's default of 1 MB for a record batch, since a batch too large is refused as a whole. */
const MAX_BATCH_BYTES = 512 * 1024;
const BACK_OFF = { baseMs: 200, capMs: 5000 };
const DISCONNECT_DEADLINE_MS = 2000;

/**
 * The way out for outcomes and dead letters. A record is sent until all in-sync replicas have
 * acknowledged it, however long Kafka is away; what comes together is sent together. One request
 * is under way at a time, so records of one key stay in order. At least once: a request whose answer was
 * lost is sent again.
 */
export class Outbox {
  private readonly logger = new Logger('Outbox');
  private readonly pending: Pending[] = [];
  private readonly stopping = new AbortController();
  private producer: Producer | undefined;
  private flushing = false;

  constructor(private readonly kafka: Kafka) {}

  /** Resolves once the record is acknowledged; rejects only when the outbox is closed before. */
  send(record: OutboundRecord): Promise<void> {
    if (this.stopping.signal.aborted) return Promise.reject(this.stopping.signal.reason as Error);
    return new Promise((resolve, reject) => {
      this.pending.push({ record, bytes: byteLength(record), resolve, reject });
      // Once a turn of the event loop, not once a record: what is sent in the same turn shares a request.
      if (!this.flushing) {
        this.flushing = true;
        setImmediate(() => void this.flush());
      }
    });
  }

  /** Records not yet acknowledged. */
  get size(): number {
    return this.pending.length;
  }

  async close(): Promise<void> {
    this.stopping.abort(new Error('the outbox is closed'));
    for (const { reject } of this.pending.splice(0)) reject(this.stopping.signal.reason as Error);
    await withDeadline(this.producer?.disconnect(), DISCONNECT_DEADLINE_MS);
  }

  private async flush(): Promise<void> {
    while (this.pending.length > 0) {
      const batch = takeBatch(this.pending, MAX_BATCH_BYTES);
      const error = await this.sendUntilAcknowledged(batch.map(({ record }) => record));
      for (const { resolve, reject } of batch) {
        if (error === undefined) resolve();
        else reject(error);
      }
    }
    this.flushing = false;
  }

  private async sendUntilAcknowledged(records: OutboundRecord[]): Promise<Error | undefined> {
    for (let attempt = 1; !this.stopping.signal.aborted; attempt += 1) {
      try {
        const producer = await this.connected();
        await producer.sendBatch({ acks: -1, topicMessages: toTopicMessages(records) });
        return undefined;
      } catch (error) {
        this.logger.warn({ msg: 'Kafka did not take records', attempt, error: String(error) });
        await this.discardProducer();
        await realDelayMs(backOffMs(attempt, BACK_OFF), this.stopping.signal).catch(
          () => undefined,
        );
      }
    }
    return this.stopping.signal.reason as Error;
  }

  private async connected(): Promise<Producer> {
    if (this.producer !== undefined) return this.producer;
    const producer = this.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    this.producer = producer;
    return producer;
  }

  private async discardProducer(): Promise<void> {
    const producer = this.producer;
    this.producer = undefined;
    await withDeadline(producer?.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}
