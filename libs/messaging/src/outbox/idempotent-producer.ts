import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { withDeadline } from '../deadline.js';
import { FailureRun } from '../failure-run.js';
import { type Kafka, type Producer } from '../kafkajs.js';
import { partitionByKey } from '../partition-of.js';
import { type RecordPlace } from '../reading/read-records.js';
import { type OutboundRecord } from './outbound-record.js';
import { refusalOf } from './record-refused.js';
import { toTopicMessages } from './to-topic-messages.js';

interface Pending {
  record: OutboundRecord;
  resolve: (place: RecordPlace) => void;
  reject: (error: Error) => void;
}

const BACK_OFF = { baseMs: 100, capMs: 2000 };
const DISCONNECT_DEADLINE_MS = 2000;
const MAX_BATCH_RECORDS = 100;
/** The broker does not know the producer's sequence any more, as after it has lost its data: only a new producer id helps. */
const SEQUENCE_LOST =
  /OUT_OF_ORDER_SEQUENCE_NUMBER|UNKNOWN_PRODUCER_ID|INVALID_PRODUCER_EPOCH|DUPLICATE_SEQUENCE_NUMBER/;

/**
 * Sends records until all in-sync replicas have them, and says where they lie. A request whose answer was lost is
 * sent again under the same sequence number, so that the broker stores it once. One request is under way at a time:
 * it holds consecutive records of one key, which share a partition, so that it is taken as a whole or not at all.
 */
export class IdempotentProducer {
  private readonly logger = new Logger('Producer');
  private readonly stopping = new AbortController();
  private readonly failing = new FailureRun({ isTriedUntilDone: true });
  private readonly pending: Pending[] = [];
  private producer: Producer | undefined;
  private isSending = false;

  constructor(private readonly kafka: Kafka) {}

  /** Records that are not acknowledged yet. */
  get waiting(): number {
    return this.pending.length;
  }

  /** Why nothing gets out, in words; undefined while records do. */
  get problem(): string | undefined {
    return this.failing.problem(realNowMs());
  }

  /**
   * Resolves once the record is acknowledged, however long that takes.
   *
   * @throws RecordRefusedError when it can never be sent, or the reason of the close
   */
  send(record: OutboundRecord): Promise<RecordPlace> {
    const { signal } = this.stopping;
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      this.pending.push({ record, resolve, reject });
      if (!this.isSending) void this.sendAll();
    });
  }

  async close(): Promise<void> {
    this.stopping.abort(new Error('the producer is closed'));
    for (const { reject } of this.pending.splice(0)) reject(this.stopping.signal.reason as Error);
    await this.discard();
  }

  private async sendAll(): Promise<void> {
    this.isSending = true;
    while (this.pending.length > 0) {
      await this.sendUntilAnswered(this.firstOfOneKey());
    }
    this.isSending = false;
  }

  /** The batch stays as it is from try to try: the broker knows it again by its sequence numbers. */
  private async sendUntilAnswered(batch: readonly Pending[]): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        const place = await this.sendOnce(batch.map(({ record }) => record));
        this.failing.succeeded();
        batch.forEach(({ record, resolve }, index) => {
          this.pending.shift();
          resolve({ ...place, topic: record.topic, offset: place.offset + index });
        });
        return;
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal === undefined) await this.backOff(batch, error);
        else if (batch.length > 1) {
          for (const one of batch) await this.sendUntilAnswered([one]);
          return;
        } else {
          this.pending.shift()?.reject(refusal);
          return;
        }
      }
    }
  }

  private async sendOnce(records: readonly OutboundRecord[]): Promise<Omit<RecordPlace, 'topic'>> {
    this.producer ??= await this.connect();
    const topicMessages = toTopicMessages(records);
    const [answer] = await this.producer.sendBatch({ acks: -1, topicMessages });
    return { partition: answer?.partition ?? 0, offset: Number(answer?.baseOffset) };
  }

  private async connect(): Promise<Producer> {
    const producer = this.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: partitionByKey,
      retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 3 },
    });
    await producer.connect();
    return producer;
  }

  private firstOfOneKey(): Pending[] {
    const first = this.pending[0]?.record;
    const end = this.pending.findIndex(
      ({ record }) => record.topic !== first?.topic || record.key !== first.key,
    );
    return this.pending.slice(0, Math.min(end < 0 ? Infinity : end, MAX_BATCH_RECORDS));
  }

  private async backOff(batch: readonly Pending[], error: unknown): Promise<void> {
    const topics = [...new Set(batch.map(({ record }) => record.topic))];
    const why = describeKafkaFailure(error, { right: 'Write', topics });
    const attempt = this.failing.failed(realNowMs(), why);
    this.logger.warn({ msg: 'Kafka did not take records', attempt, error: why });
    if (SEQUENCE_LOST.test(String(error))) await this.discard();
    const { signal } = this.stopping;
    await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
  }

  private async discard(): Promise<void> {
    const { producer } = this;
    this.producer = undefined;
    await withDeadline(producer?.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}
