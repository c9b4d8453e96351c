import { Logger } from '@nestjs/common';
import { abortable, realDelayMs, realNowMs, withDeadline } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { unsentBatches } from '#libs/kafkajs-patches';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { KafkaClient, Producer } from '../client/kafka-port.js';
import { brokerAnswerOf } from '../client/protocol-error.js';
import type { RecordPlace } from '../reading/stored-record.js';
import {
  assertSendable,
  batchesOf,
  byteLength,
  MAX_BATCH_BYTES,
  mustCompress,
  type OutboundRecord,
  partitionByKey,
  type RecordRefusedError,
  refusalOf,
  toProducerBatch,
} from './outbound-record.js';
import { ConsecutiveFailures } from './write-failures.js';

const BACK_OFF = { baseMs: 100, capMs: 2000 };
const DISCONNECT_DEADLINE_MS = 2000;
/** The broker has lost the producer's sequence, as after a loss of data: only a new producer id helps. */
const SEQUENCE_LOST = [
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'DUPLICATE_SEQUENCE_NUMBER',
];

/**
 * Sends records until all in-sync replicas have them, however long Kafka is away. A request whose answer was lost is
 * sent again under the same sequence number, so that the broker stores it once. One request is in flight at a time.
 */
export class IdempotentProducer {
  private readonly logger = new Logger('Producer');
  private readonly stopping = new AbortController();
  private readonly failing = new ConsecutiveFailures();
  private producer: Producer | undefined;
  private previous: Promise<unknown> = Promise.resolve();
  /** Records of {@link sendRecord} that are not acknowledged yet. */
  unacknowledged = 0;

  constructor(private readonly kafka: KafkaClient) {}

  /** Why records are not written, for `/health/ready`; undefined while they are. */
  get writeProblem(): string | undefined {
    return this.failing.lastingProblem(realNowMs());
  }

  /** Sends after earlier records; resolves with the place. @throws RecordRefusedError, or why it was closed */
  async sendRecord(record: OutboundRecord): Promise<RecordPlace> {
    const sent = this.previous.then(() => this.sendUntilAnswered([record]));
    this.previous = sent.catch(() => undefined);
    this.unacknowledged += 1;
    try {
      const answer = await abortable(sent, this.stopping.signal);
      if ('refusal' in answer) throw answer.refusal;
      return { topic: record.topic, ...answer.place };
    } finally {
      this.unacknowledged -= 1;
    }
  }

  /**
   * Resolves with the refused records once each record is acknowledged or refused; those of a partition keep their
   * order. Must not be called while another call is in progress. @throws the reason of the close
   */
  async sendRecords(
    records: readonly OutboundRecord[],
  ): Promise<ReadonlyMap<OutboundRecord, RecordRefusedError>> {
    const refused = new Map<OutboundRecord, RecordRefusedError>();
    for (const batch of batchesOf(records, MAX_BATCH_BYTES)) await this.sendBatch(batch, refused);
    return refused;
  }

  async closeProducer(): Promise<void> {
    this.stopping.abort(new Error('the producer is closed'));
    await this.disconnectProducer();
  }

  /** Bisects a batch with refused records. Records of partitions that have acknowledged them are not sent again. */
  private async sendBatch(
    batch: readonly OutboundRecord[],
    refused: Map<OutboundRecord, RecordRefusedError>,
  ): Promise<void> {
    const answer = await this.sendUntilAnswered(batch);
    if (!('refusal' in answer)) return;
    const { unsent, refusal } = answer;
    const [only] = unsent;
    if (only === undefined) return;
    if (unsent.length === 1) {
      refused.set(only, refusal);
      return;
    }
    const middle = Math.ceil(unsent.length / 2);
    await this.sendBatch(unsent.slice(0, middle), refused);
    await this.sendBatch(unsent.slice(middle), refused);
  }

  /**
   * Retries the same records without those acknowledged: the broker knows them by their sequence numbers. If the rest
   * is refused for good, returns it with the reason. @throws the reason of the close
   */
  private async sendUntilAnswered(
    records: readonly OutboundRecord[],
  ): Promise<
    | { place: Omit<RecordPlace, 'topic'> }
    | { unsent: readonly OutboundRecord[]; refusal: RecordRefusedError }
  > {
    let unsent = records;
    // A request that a slow line does not carry within its time-out is resent again and again, and no answer arrives in
    // time. Records sent together are similar, such as the reasons of machines, and compress well.
    let isCompressed =
      records.length > 1 || records.some((record) => mustCompress(byteLength(record)));
    for (;;) {
      this.stopping.signal.throwIfAborted();
      try {
        const place = await this.sendOnce(unsent, isCompressed);
        this.failing.recordSuccess();
        return { place };
      } catch (error) {
        unsent = unsentOf(unsent, error);
        const hasOwnTime = unsent.some(({ timestamp }) => timestamp !== undefined);
        const isKeyless = unsent.some(({ key }) => key === null);
        const refusal = refusalOf(error, { hasOwnTime, isKeyless });
        if (refusal === undefined) await this.backOff(unsent, error);
        else if (refusal.code !== 'too-large' || unsent.length > 1 || isCompressed) {
          return { unsent, refusal };
        }
        // A message that fitted into its input compressed may fit compressed.
        isCompressed ||= refusal !== undefined;
      }
    }
  }

  private async sendOnce(
    records: readonly OutboundRecord[],
    isCompressed: boolean,
  ): Promise<Omit<RecordPlace, 'topic'>> {
    for (const record of records) assertSendable(record);
    this.producer ??= await this.connect();
    // Closed meanwhile: nothing more may be sent, and only this call can disconnect the new producer.
    if (this.stopping.signal.aborted) await this.disconnectProducer();
    this.stopping.signal.throwIfAborted();
    const [answer] = await this.producer.sendBatch(toProducerBatch(records, isCompressed));
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
    try {
      await producer.connect();
      return producer;
    } catch (error) {
      // It may be connected, and only lack a producer id.
      await withDeadline(producer.disconnect(), DISCONNECT_DEADLINE_MS);
      throw error;
    }
  }

  private async backOff(records: readonly OutboundRecord[], error: unknown): Promise<void> {
    const topics = [...new Set(records.map(({ topic }) => topic))];
    const why = describeKafkaFailure(error, { right: 'Write', topics });
    const attempt = this.failing.recordFailure(realNowMs(), why);
    this.logger.warn({ msg: 'Kafka did not take records', topics, attempt, error: why });
    if (SEQUENCE_LOST.includes(brokerAnswerOf(error) ?? '')) await this.disconnectProducer();
    const { signal } = this.stopping;
    await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
  }

  private async disconnectProducer(): Promise<void> {
    const { producer } = this;
    this.producer = undefined;
    await withDeadline(producer?.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}

function unsentOf(records: readonly OutboundRecord[], error: unknown): readonly OutboundRecord[] {
  const unsent = unsentBatches(error);
  if (unsent === undefined) return records;
  const messages = new Set<unknown>(unsent.flatMap((batch) => batch.messages));
  return records.filter((record) => messages.has(record));
}
