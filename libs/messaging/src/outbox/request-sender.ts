import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { FailureRun } from '../failure-run.js';
import { CompressionTypes, type Kafka } from '../kafkajs.js';
import { OnDemandProducer } from './on-demand-producer.js';
import { type OutboundRecord } from './outbound-record.js';
import { RecordRefusedError, refusalOf } from './record-refused.js';

const MIB = 1024 * 1024;
/**
 * A record of this size came compressed, and goes the same way: the broker does not refuse a request beyond
 * `socket.request.max.bytes` (100 MiB), it closes the connection, and one that is sent again would stop all others.
 */
const COMPRESS_FROM_BYTES = 16 * MIB;
/** Never sent: that it can be compressed is not certain, and each try takes several times its size in memory. */
const MAX_RECORD_BYTES = 64 * MIB;
const BACK_OFF = { baseMs: 200, capMs: 5000 };

/** Sends one request at a time, as often as it takes. */
export class RequestSender {
  private readonly logger = new Logger('Outbox');
  private readonly producer: OnDemandProducer;
  private readonly failing = new FailureRun({ isTriedUntilDone: true });

  /** @param stopping ends all trying; its reason is what became of the request then */
  constructor(
    kafka: Kafka,
    private readonly stopping: AbortSignal,
  ) {
    this.producer = new OnDemandProducer(kafka);
  }

  /** Why nothing gets out, in words; undefined while records do. */
  get problem(): string | undefined {
    const why = this.failing.problem(realNowMs());
    return why && `outcomes and dead letters are not taken: ${why}`;
  }

  /**
   * Returns why it was refused for good, or undefined once it is acknowledged.
   *
   * @param bytes of all the records together
   */
  async sendUntilAnswered(
    records: readonly OutboundRecord[],
    bytes: number,
  ): Promise<RecordRefusedError | Error | undefined> {
    if (bytes > MAX_RECORD_BYTES) return tooLarge(bytes);
    let compression = bytes < COMPRESS_FROM_BYTES ? CompressionTypes.None : CompressionTypes.GZIP;
    while (!this.stopping.aborted) {
      try {
        await this.producer.send(records, compression);
        this.failing.succeeded();
        return undefined;
      } catch (error) {
        const refusal = refusalOf(error);
        const isLastTry = compression !== CompressionTypes.None || records.length > 1;
        if (refusal !== undefined && (refusal.code !== 'too-large' || isLastTry)) return refusal;
        // What came compressed and fitted may fit again when it is compressed.
        if (refusal !== undefined) compression = CompressionTypes.GZIP;
        else await this.backOff(whyNotWritten(error, records));
      }
    }
    return this.stopping.reason as Error;
  }

  async disconnect(): Promise<void> {
    await this.producer.discard();
  }

  private async backOff(why: string): Promise<void> {
    const attempt = this.failing.failed(realNowMs(), why);
    this.logger.warn({ msg: 'Kafka did not take records', attempt, error: why });
    await this.producer.discard();
    await realDelayMs(backOffMs(attempt, BACK_OFF), this.stopping).catch(() => undefined);
  }
}

function whyNotWritten(error: unknown, records: readonly OutboundRecord[]): string {
  const topics = [...new Set(records.map(({ topic }) => topic))];
  return describeKafkaFailure(error, { right: 'Write', topics });
}

function tooLarge(bytes: number): RecordRefusedError {
  const limit = `${bytes} bytes, of ${MAX_RECORD_BYTES} at most`;
  return new RecordRefusedError('too-large', new Error(limit));
}
