import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { unsentBatches } from '../exchanged/send-messages.js';
import { FailureRun } from '../failure-run.js';
import { CompressionTypes, type Kafka } from '../kafkajs.js';
import { partitionOf } from '../partition-of.js';
import { OnDemandProducer } from './on-demand-producer.js';
import { type OutboundRecord } from './outbound-record.js';
import { type Receipt } from './receipt.js';
import { RecordRefusedError, refusalOf } from './record-refused.js';
import { MAX_BATCH_BYTES, takeBatch } from './take-batch.js';

const MIB = 1024 * 1024;
/**
 * A record of this size came compressed, and goes the same way: the broker does not refuse a request beyond
 * `socket.request.max.bytes` (100 MiB), it closes the connection, and one that is sent again would stop all others.
 */
const COMPRESS_FROM_BYTES = 16 * MIB;
/** Never sent: that it can be compressed is not certain, and each try takes its size in memory once more. */
const MAX_RECORD_BYTES = 48 * MIB;
const BACK_OFF = { baseMs: 200, capMs: 5000 };

/** A record that waits to be acknowledged. */
export interface Pending {
  record: OutboundRecord;
  bytes: number;
  receipt: Receipt;
  /** It was refused together with others: the next try tells whether it was the one at fault. */
  isAlone?: boolean;
  /** What came compressed and fitted may fit again when it is compressed. */
  isCompressed?: boolean;
}

/** What all queues of an outbox share. */
export interface SendQueueOptions {
  kafka: Kafka;
  /** Ends all trying; its reason is what became of the records then. */
  stopping: AbortSignal;
  /** Real milliseconds that a request waits for others to share it, unless it is full. */
  lingerMs: number;
  delay: (ms: number) => Promise<void>;
  /** Called when nothing waits any more. */
  onQuiet: () => void;
}

/** What a try has left of a partition, or of all it was about. */
interface Left {
  entries: Pending[];
  why: unknown;
  /** Undefined where the try ended before records were shared out. */
  partition?: { number: number; count: number };
  /** The broker has answered this of the partition; else it may be all of Kafka that is away. */
  isAnswered: boolean;
}

/**
 * The records of one topic on their way to Kafka: in their order, one request at a time, each until it is taken. What
 * is sent next is put together anew at each try. A partition that does not take its records is held apart, in a queue
 * and on connections of its own, until it has taken all of them; the other partitions go on meanwhile.
 */
export class SendQueue {
  private readonly logger = new Logger('Outbox');
  private readonly pending: Pending[] = [];
  private pendingBytes = 0;
  private isFlushing = false;
  private readonly producer: OnDemandProducer;
  private readonly failing = new FailureRun({ isTriedUntilDone: true });
  /** By partition, those that do not take their records. Always empty where this queue is one of them. */
  private readonly held = new Map<number, SendQueue>();
  /** As many as the topic had when one was held apart last. */
  private partitions = 0;

  /**
   * @param partition undefined for all that are not held apart
   */
  constructor(
    private readonly options: SendQueueOptions,
    readonly topic: string,
    readonly partition?: number,
  ) {
    this.producer = new OnDemandProducer(options.kafka);
  }

  add(entry: Pending): void {
    const held = this.heldFor(entry.record);
    if (held !== undefined) {
      held.add(entry);
      return;
    }
    this.pending.push(entry);
    this.pendingBytes += entry.bytes;
    if (!this.isFlushing) void this.flush();
  }

  /** Why records are not taken, by where that is; empty while they are. */
  problems(): { where: string; why: string }[] {
    const { topic, partition } = this;
    const why = this.failing.problem(realNowMs());
    const where = partition === undefined ? topic : `${topic}/${partition}`;
    const own = why === undefined ? [] : [{ where, why }];
    return [...own, ...[...this.held.values()].flatMap((held) => held.problems())];
  }

  /** Tells all that waits why nothing more is sent, and disconnects. */
  async close(reason: Error): Promise<void> {
    this.tell(this.pending.splice(0), reason);
    this.pendingBytes = 0;
    const held = [...this.held.values()];
    await Promise.all([this.producer.discard(), ...held.map((queue) => queue.close(reason))]);
  }

  private heldFor(record: OutboundRecord): SendQueue | undefined {
    if (this.held.size === 0) return undefined;
    const { partition, partitionKey, key } = record;
    if (partition !== undefined) return this.held.get(partition);
    const hashed = partitionKey ?? key;
    return hashed === null ? undefined : this.held.get(partitionOf(hashed, this.partitions));
  }

  private async flush(): Promise<void> {
    this.isFlushing = true;
    while (this.pending.length > 0) {
      if (this.pendingBytes < MAX_BATCH_BYTES) await this.options.delay(this.options.lingerMs);
      const why = await this.send(this.takeNext());
      if (why !== undefined) await this.backOff(why);
    }
    this.isFlushing = false;
    this.options.onQuiet();
  }

  /** None where the outbox was closed while they waited for others to share their request. */
  private takeNext(): Pending[] {
    const batch = takeBatch(this.pending, MAX_BATCH_BYTES);
    for (const { bytes } of batch) this.pendingBytes -= bytes;
    return batch;
  }

  /** Returns why some of them have to wait for their next try; undefined where they need not. */
  private async send(batch: readonly Pending[]): Promise<string | undefined> {
    const [first] = batch;
    if (first === undefined) return undefined;
    if (first.bytes > MAX_RECORD_BYTES) {
      this.tell(batch, beyondBound(first.bytes));
      return undefined;
    }
    try {
      await this.producer.send(
        batch.map(({ record }) => record),
        mustCompress(first) ? CompressionTypes.GZIP : CompressionTypes.None,
      );
    } catch (error) {
      return this.failed(batch, error);
    }
    this.succeeded();
    this.tell(batch);
    return undefined;
  }

  private succeeded(): void {
    this.failing.succeeded();
  }

  private failed(batch: readonly Pending[], error: unknown): string | undefined {
    const { stopping } = this.options;
    if (stopping.aborted) {
      this.tell(batch, stopping.reason as Error);
      return undefined;
    }
    const left = leftOf(batch, error);
    const untaken = new Set(left.flatMap(({ entries }) => entries));
    const taken = batch.filter((entry) => !untaken.has(entry));
    this.tell(taken);
    const outages = left.filter((part) => !this.isRefused(part, untaken));
    const apart = outages.filter(
      (part) =>
        this.partition === undefined &&
        part.partition !== undefined &&
        (part.isAnswered || taken.length > 0),
    );
    for (const { entries } of apart) for (const entry of entries) untaken.delete(entry);
    this.putBack(batch.filter((entry) => untaken.has(entry)));
    for (const part of apart) this.holdApart(part);
    const [outage] = outages.filter((part) => !apart.includes(part));
    if (outage !== undefined) return whyNotWritten(outage.why, this.topic);
    this.succeeded();
    return undefined;
  }

  /** Sees to those that are refused rather than not written for now; who has been told so is not untaken any more. */
  private isRefused({ entries, why }: Left, untaken: Set<Pending>): boolean {
    const refusal = refusalOf(why, {
      hasOwnTime: entries.some(({ record }) => record.timestamp !== undefined),
    });
    if (refusal === undefined) return false;
    const [only] = entries;
    if (entries.length > 1) for (const entry of entries) entry.isAlone = true;
    else if (only !== undefined && mayStillBeTaken(only, refusal)) only.isAlone = true;
    else {
      for (const entry of entries) untaken.delete(entry);
      this.tell(entries, refusal);
    }
    return true;
  }

  private putBack(entries: readonly Pending[]): void {
    this.pending.unshift(...entries);
    for (const { bytes } of entries) this.pendingBytes += bytes;
  }

  /** What else waits for the partition goes behind what it has not taken. */
  private holdApart({ entries, why, partition }: Left): void {
    if (partition === undefined) return;
    const { number, count } = partition;
    const onQuiet = (): void => {
      this.release(number);
    };
    const held = new SendQueue({ ...this.options, onQuiet }, this.topic, number);
    this.partitions = count;
    this.held.set(number, held);
    const others = this.pending.splice(0);
    this.pendingBytes = 0;
    held.beginWith(entries, whyNotWritten(why, this.topic));
    for (const entry of others) this.add(entry);
  }

  /** They have just been tried. */
  private beginWith(entries: readonly Pending[], why: string): void {
    this.putBack(entries);
    this.isFlushing = true;
    void this.backOff(why).then(() => this.flush());
  }

  /** A partition that has taken all is written with the others again. */
  private release(partition: number): void {
    const held = this.held.get(partition);
    if (held?.isFlushing === false) {
      this.held.delete(partition);
      void held.producer.discard();
    }
    this.options.onQuiet();
  }

  private async backOff(why: string): Promise<void> {
    const { topic, partition, options } = this;
    const attempt = this.failing.failed(realNowMs(), why);
    this.logger.warn({ msg: 'Kafka did not take records', topic, partition, attempt, error: why });
    await this.producer.discard();
    await realDelayMs(backOffMs(attempt, BACK_OFF), options.stopping).catch(() => undefined);
  }

  /** One that throws, which is a bug of ours, must not keep the others from hearing. */
  private tell(entries: readonly Pending[], refusal?: Error): void {
    for (const { receipt } of entries) {
      try {
        if (refusal === undefined) receipt.acknowledged();
        else receipt.refused(refusal);
      } catch (error) {
        const { topic } = this;
        this.logger.error({ msg: 'what became of a record was not taken in', topic, err: error });
      }
    }
  }
}

function leftOf(batch: readonly Pending[], error: unknown): Left[] {
  const unsent = unsentBatches(error);
  if (unsent === undefined) return [{ entries: [...batch], why: error, isAnswered: false }];
  const byRecord = new Map<unknown, Pending>(batch.map((entry) => [entry.record, entry]));
  return unsent.map(({ messages, partition, partitions, refusal }) => ({
    entries: messages.flatMap((message) => byRecord.get(message) ?? []),
    why: refusal ?? error,
    partition: { number: partition, count: partitions },
    isAnswered: refusal !== undefined,
  }));
}

/** Whether it is worth another try, for which it has been changed. */
function mayStillBeTaken(entry: Pending, { code }: RecordRefusedError): boolean {
  if (code === 'too-large' && !mustCompress(entry)) return (entry.isCompressed = true);
  return false;
}

function mustCompress({ bytes, isCompressed }: Pending): boolean {
  return isCompressed === true || bytes >= COMPRESS_FROM_BYTES;
}

function whyNotWritten(error: unknown, topic: string): string {
  return describeKafkaFailure(error, { right: 'Write', topics: [topic] });
}

function beyondBound(bytes: number): RecordRefusedError {
  const limit = `${bytes} bytes, of ${MAX_RECORD_BYTES} at most`;
  return new RecordRefusedError('beyond-bound', new Error(limit));
}
