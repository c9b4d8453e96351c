import { Inject, Injectable, Logger } from '@nestjs/common';
import { realDelayMs, realNowMs, whenAllAbort } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  describeKafkaFailure,
  type InboundMessage,
  type InboundRecord,
  type KafkaClient,
  type OutboundRecord,
  readRecords,
  type RecordPlace,
  type StoredRecord,
} from '#libs/kafka';
import { backOffMs } from '#libs/delivery';
import { CommandOutcomes, type OutcomeTarget, type RejectedResult } from '../../delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import type { HandleQueued, ORDER_REFUSALS, OrderRefusal } from './order-queues.js';

/** Longer than the time between the refusals of calls that one refused call was split into. */
const LINGER_MS = 500;
/** Dead letters due within this time share a read: short beside a read, long beside an answer that refuses many. */
const TOGETHER_MS = 50;
/** Messages read at once, which are in memory together. */
const MAX_PLACES = 100;
const BACK_OFF = { baseMs: 200, capMs: 5000 };
const NO_LONGER_THERE = 'the message itself is no longer in its topic';

interface Arrived {
  message: InboundMessage;
  refusal: OrderRefusal;
  ending: readonly OutboundRecord[];
}

interface PendingDeadLetter {
  source: OrderRefusal['source'];
  dueMs: number;
  refusals: Arrived[];
}

/**
 * Dead-letters input messages of orders for which machines were refused. Refusals that come within half a second, or
 * until the message is read, share one dead letter, written with their outcomes and the end of each refusal. A later
 * one, for instance after a long look-up, gets its own. Messages are read together, since a read takes a second or more
 * for any number. Reads follow one another; each goes on until Kafka answers or all its partitions are revoked.
 */
@Injectable()
export class DeadLetterAggregator {
  private readonly topicPrefix: string;
  private readonly logger = new Logger('DeadLetters');
  /** By the position of the message, in the order of due times. */
  private readonly pending = new Map<string, PendingDeadLetter>();
  private isRunning = false;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly outcomes: CommandOutcomes,
  ) {
    this.topicPrefix = topicPrefix;
  }

  readonly addRefusal: HandleQueued<typeof ORDER_REFUSALS> = (message, refusal, ending) => {
    const { source } = refusal;
    const arrived = { message, refusal, ending };
    const place = `${source.topic}/${source.partition}/${source.offset}`;
    const deadLetter = this.pending.get(place);
    if (deadLetter !== undefined) {
      deadLetter.refusals.push(arrived);
      return;
    }
    const dueMs = realNowMs() + LINGER_MS;
    this.pending.set(place, { source, dueMs, refusals: [arrived] });
    if (!this.isRunning) void this.deadLetterPending();
  };

  private async deadLetterPending(): Promise<void> {
    this.isRunning = true;
    for (let [next] = this.pending.values(); next !== undefined; [next] = this.pending.values()) {
      // A read may have taken longer than that.
      await realDelayMs(Math.max(0, next.dueMs + TOGETHER_MS - realNowMs()));
      const due = [...this.pending].filter(([, { dueMs }]) => dueMs <= realNowMs());
      await this.deadLetterAll(new Map(due.slice(0, MAX_PLACES)));
    }
    this.isRunning = false;
  }

  private async deadLetterAll(batch: ReadonlyMap<string, PendingDeadLetter>): Promise<void> {
    const all = [...batch.values()];
    const revoked = all.flatMap(({ refusals }) => refusals.map(({ message }) => message.revoked));
    const { signal, release } = whenAllAbort(new Set(revoked));
    const sources = all.map(({ source }) => source);
    const records = await this.readUntilAnswered(sources, signal);
    release();
    [...batch].forEach(([place, deadLetter], index) => {
      this.pending.delete(place);
      const { refusals } = deadLetter;
      // A record of a revoked partition may have been redelivered meanwhile, and be here twice.
      for (const { message } of refusals) if (message.revoked.aborted) message.abandon();
      const kept = refusals.filter(({ message }) => !message.revoked.aborted);
      if (kept.length === 0) return;
      // All others were revoked; these came after them.
      if (records === undefined) this.pending.set(place, { ...deadLetter, refusals: kept });
      else this.deadLetter(kept, records[index]);
    });
  }

  /** Undefined if the signal aborts before Kafka answers. */
  private async readUntilAnswered(
    places: readonly RecordPlace[],
    signal: AbortSignal,
  ): Promise<(StoredRecord | undefined)[] | undefined> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return await this.readMessages(places, signal);
      } catch (error) {
        const why = describeKafkaFailure(error);
        if (attempt === 1)
          this.logger.warn({ msg: 'messages to dead-letter not read', error: why });
        await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** In the order of the places; undefined for lost records. */
  readMessages(
    places: readonly RecordPlace[],
    signal: AbortSignal,
  ): Promise<(StoredRecord | undefined)[]> {
    return readRecords(this.kafka, places, { signal });
  }

  /** @param stored the message; undefined if its topic no longer holds it */
  private deadLetter(refusals: readonly Arrived[], stored: StoredRecord | undefined): void {
    try {
      this.finishRefusals(refusals, stored);
    } catch (error) {
      for (const { message } of refusals) message.fail(error);
    }
  }

  private finishRefusals(refusals: readonly Arrived[], stored: StoredRecord | undefined): void {
    const [first, ...others] = refusals;
    if (first === undefined) return;
    const target = this.targetFor(first.refusal, stored);
    const faults = refusals.flatMap(({ refusal }) => refusal.faults);
    const records = [
      this.outcomes.toDeadLetter(
        target,
        stored === undefined ? faults.map(withoutMessage) : faults,
      ),
      ...this.outcomes.outcomeRecords(target, faults),
      ...refusals.flatMap(({ ending }) => ending),
    ];
    const messages = others.map(({ message }) => message);
    if (messages.length === 0) first.message.finish(records);
    else {
      first.message.finishWith(messages, records, (apart) => {
        const its = refusals.filter(({ message }) => message === apart);
        this.finishRefusals(its, stored);
      });
    }
  }

  private targetFor(refusal: OrderRefusal, stored: StoredRecord | undefined): OutcomeTarget {
    const { source } = refusal;
    const topic = source.topic.slice(this.topicPrefix.length);
    return {
      message: stored === undefined ? lostMessage(refusal, topic) : { ...stored, topic, bytes: 0 },
      source,
      namesOthers: true,
      trace: refusal.trace,
    };
  }
}

function withoutMessage(fault: RejectedResult): RejectedResult {
  const { rejection } = fault;
  const detail = `${rejection.detail}; ${NO_LONGER_THERE}`;
  return { ...fault, rejection: { ...rejection, detail } };
}

/** The known part of a message that its topic no longer holds. */
function lostMessage({ source, orderId }: OrderRefusal, topic: string): InboundRecord {
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
    // The size is unknown: the dead letter must not look like that of a message without a value.
    unreadable: {
      rejection: { code: 'invalid-message', detail: NO_LONGER_THERE },
      omittedBytes: 0,
    },
  };
}
