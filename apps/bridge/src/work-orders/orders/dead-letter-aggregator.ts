import { Inject, Injectable, Logger } from '@nestjs/common';
import { abortable, realDelayMs, whenAllAbort } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  describeKafkaFailure,
  type InboundMessage,
  type InboundRecord,
  type KafkaClient,
  readRecords,
  type RecordPlace,
  type StoredRecord,
} from '#libs/kafka';
import { backOffMs } from '#libs/delivery';
import { type Answered, CommandOutcomes } from '../../delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { QueueRetention } from './queue-retention.js';
import type { OrderRefusal } from './queues.js';

/** Long beside what lies between the refusals of calls that one refused call was split into. */
const REFUSALS_LINGER_MS = 500;
const NO_LONGER_THERE = 'the message itself is no longer in its topic';

/** A refusal, and the queue record that carries it. */
interface Arrived {
  message: InboundMessage;
  refusal: OrderRefusal;
}

/**
 * Dead-letters messages of orders for which machines were refused. Refusals that come within half a second, or until the
 * message is read, share one dead letter, written with their outcomes and the end of each refusal. A later one, as after
 * a long look-up, has its own.
 */
@Injectable()
export class DeadLetterAggregator {
  private readonly topicPrefix: string;
  private readonly reads: BatchedRecordReader;
  private readonly pending = new Map<string, Arrived[]>();

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    private readonly outcomes: CommandOutcomes,
    private readonly retention: QueueRetention,
  ) {
    this.topicPrefix = topicPrefix;
    // Together, because each read is a consumer group of its own: a hundred refused machines must not become a hundred.
    this.reads = new BatchedRecordReader((places, signal) =>
      readRecords(kafka, places, { signal }),
    );
  }

  readonly takeRefusal = (message: InboundMessage, refusal: OrderRefusal): void => {
    const { topic, partition, offset } = refusal.source;
    const place = `${topic}/${partition}/${offset}`;
    const refusals = this.pending.get(place);
    if (refusals !== undefined) {
      refusals.push({ message, refusal });
      return;
    }
    this.pending.set(place, [{ message, refusal }]);
    void realDelayMs(REFUSALS_LINGER_MS).then(() => this.deadLetter(place));
  };

  private async deadLetter(place: string): Promise<void> {
    const refusals = this.pending.get(place) ?? [];
    const [first] = refusals;
    if (first === undefined) return;
    const signals = new Set(refusals.map(({ message }) => message.revoked));
    const { signal, release } = whenAllAbort(signals);
    try {
      const answered = await this.messageOf(first.refusal, signal);
      // what was revoked may have been delivered again meanwhile, and be here twice
      for (const { message } of refusals) if (message.revoked.aborted) message.abandon();
      const kept = refusals.filter(({ message }) => !message.revoked.aborted);
      this.end(kept, answered);
    } catch (error) {
      for (const { message } of refusals) {
        if (message.revoked.aborted) message.abandon();
        else message.fail(error);
      }
    } finally {
      this.pending.delete(place);
      release();
    }
  }

  /** Ends all refusals with one dead letter. */
  private end(refusals: readonly Arrived[], answered: Answered): void {
    const [first, ...others] = refusals;
    if (first === undefined) return;
    const faults = refusals.flatMap(({ refusal }) => refusal.faults);
    const records = [
      this.outcomes.deadLetterOf(answered, faults),
      ...this.outcomes.outcomesOf(answered, faults),
      ...refusals.flatMap(({ message }) => this.retention.endOf(message)),
    ];
    const messages = others.map(({ message }) => message);
    if (messages.length === 0) first.message.finish(records);
    else {
      first.message.finishWith(messages, records, (apart) => {
        const its = refusals.filter(({ message }) => message === apart);
        this.end(its, answered);
      });
    }
  }

  /** The message to dead-letter. */
  private async messageOf(refusal: OrderRefusal, signal: AbortSignal): Promise<Answered> {
    const { source } = refusal;
    const stored = await this.reads.read(source, signal);
    const topic = source.topic.slice(this.topicPrefix.length);
    return {
      message: stored === undefined ? lost(refusal, topic) : { ...stored, topic, bytes: 0 },
      messageId: source.messageId,
      namesOthers: true,
      trace: refusal.trace,
      ...(stored === undefined && { remark: NO_LONGER_THERE }),
    };
  }
}

/** What is known of a message that its topic no longer holds. */
function lost({ source, orderId }: OrderRefusal, topic: string): InboundRecord {
  const { partition, offset, messageId } = source;
  return {
    topic,
    partition,
    offset,
    timestamp: '0',
    key: Buffer.from(orderId),
    value: null,
    headers: messageId === null ? [] : [['message-id', messageId] as const],
    bytes: 0,
  };
}

/** Short beside a read, long beside the time in which one answer refuses many machines. */
const READS_LINGER_MS = 50;
/** Read at once: so many messages are in memory together. */
const MAX_PLACES = 100;
const BACK_OFF = { baseMs: 200, capMs: 5000 };

/** Reads records where they lie, undefined for those that are lost; rejects when Kafka does not answer. */
export type ReadAll = (
  places: readonly RecordPlace[],
  signal: AbortSignal,
) => Promise<readonly (StoredRecord | undefined)[]>;

/** Who waits for the record at a place. */
interface Wanted {
  place: RecordPlace;
  waiters: { signal: AbortSignal; resolve: (record: StoredRecord | undefined) => void }[];
}

/**
 * Reads records together that are asked for one by one, each once: a read takes a second or more, however many
 * it is for. Reads follow one another, and each goes on until Kafka answers or nobody waits.
 */
export class BatchedRecordReader {
  private readonly wanted = new Map<string, Wanted>();
  private readonly logger = new Logger('DeadLetters');
  private isReading = false;

  constructor(private readonly readAll: ReadAll) {}

  /**
   * Undefined when the record is lost.
   *
   * @throws the signal's reason when it aborts before
   */
  read(place: RecordPlace, signal: AbortSignal): Promise<StoredRecord | undefined> {
    const record = new Promise<StoredRecord | undefined>((resolve) => {
      const key = `${place.topic}/${place.partition}/${place.offset}`;
      const wanted = this.wanted.get(key) ?? { place, waiters: [] };
      wanted.waiters.push({ signal, resolve });
      this.wanted.set(key, wanted);
    });
    void this.readWanted();
    return abortable(record, signal);
  }

  private async readWanted(): Promise<void> {
    if (this.isReading) return;
    this.isReading = true;
    await realDelayMs(READS_LINGER_MS);
    while (this.wanted.size > 0) {
      const batch = [...this.wanted].slice(0, MAX_PLACES);
      for (const [key] of batch) this.wanted.delete(key);
      await this.readUntilAnswered(batch.map(([, wanted]) => wanted));
    }
    this.isReading = false;
  }

  private async readUntilAnswered(batch: readonly Wanted[]): Promise<void> {
    const waiters = batch.flatMap((wanted) => wanted.waiters);
    const { signal, release } = whenAllAbort(new Set(waiters.map((waiter) => waiter.signal)));
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const records = await this.readAll(
          batch.map(({ place }) => place),
          signal,
        );
        batch.forEach(({ waiters: those }, index) => {
          for (const { resolve } of those) resolve(records[index]);
        });
        break;
      } catch (error) {
        const why = describeKafkaFailure(error);
        if (attempt === 1)
          this.logger.warn({ msg: 'messages to dead-letter not read', error: why });
        await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
      }
    }
    release();
  }
}
