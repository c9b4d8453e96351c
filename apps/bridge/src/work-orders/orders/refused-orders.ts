import { Inject, Injectable } from '@nestjs/common';
import { realDelayMs, whenAllAbort } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import {
  type InboundMessage,
  type InboundRecord,
  type KafkaClient,
  readRecords,
} from '#libs/kafka';
import { type Answered, CommandOutcomes } from '../../delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { GatheredReads } from './gathered-reads.js';
import { QueueRetention } from './queue-retention.js';
import { type OrderRefusal } from './queues.js';

/** Long beside what lies between the refusals of calls that one refused call was split into. */
const GATHER_MS = 500;
const NO_LONGER_THERE = 'the message itself is no longer in its topic';

/** A refusal, and the record of the bridge's own that tells of it. */
interface Arrived {
  message: InboundMessage;
  refusal: OrderRefusal;
}

/**
 * Sets the messages of orders aside that machines were refused for. As far as that comes about together, one dead
 * letter tells of all machines of a message, written with their outcomes and the ends of all refusals. What comes later, as when a machine was waited for, has a letter of its own.
 */
@Injectable()
export class RefusedOrders {
  private readonly topicPrefix: string;
  private readonly reads: GatheredReads;
  private readonly gathering = new Map<string, Arrived[]>();

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { groupId, topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    private readonly outcomes: CommandOutcomes,
    private readonly retention: QueueRetention,
  ) {
    this.topicPrefix = topicPrefix;
    // Together, because each read is a consumer group of its own: a hundred refused machines must not become a hundred.
    this.reads = new GatheredReads((places, signal) =>
      readRecords(kafka, places, { groupIdPrefix: groupId, signal }),
    );
  }

  take(arrived: Arrived): void {
    const { topic, partition, offset } = arrived.refusal.source;
    const place = `${topic}/${partition}/${offset}`;
    const gathered = this.gathering.get(place);
    if (gathered !== undefined) {
      gathered.push(arrived);
      return;
    }
    this.gathering.set(place, [arrived]);
    void realDelayMs(GATHER_MS).then(() => this.setAside(place));
  }

  private async setAside(place: string): Promise<void> {
    const gathered = this.gathering.get(place) ?? [];
    this.gathering.delete(place);
    const [first] = gathered;
    if (first === undefined) return;
    const signals = new Set(gathered.map(({ message }) => message.ownership.signal));
    const { signal, release } = whenAllAbort(signals);
    try {
      this.end(gathered, await this.messageOf(first.refusal, signal));
    } catch (error) {
      for (const { message } of gathered) {
        if (message.ownership.isLost) message.abandon();
        else message.fail(error);
      }
    } finally {
      release();
    }
  }

  /** Ends all of them with one letter. */
  private end(gathered: readonly Arrived[], answered: Answered): void {
    const [first, ...others] = gathered;
    if (first === undefined) return;
    const faults = gathered.flatMap(({ refusal }) => refusal.faults);
    const records = [
      this.outcomes.letterOf(answered, faults),
      ...this.outcomes.outcomesOf('work-order-list', answered, faults),
      ...gathered.flatMap(({ message }) => this.retention.endOf(message)),
    ];
    const messages = others.map(({ message }) => message);
    if (messages.length === 0) first.message.finish(records);
    else {
      first.message.finishWith(messages, records, (apart) => {
        const its = gathered.filter(({ message }) => message === apart);
        this.end(its, answered);
      });
    }
  }

  /** The message that is set aside. */
  private async messageOf(refusal: OrderRefusal, signal: AbortSignal): Promise<Answered> {
    const { source } = refusal;
    const stored = await this.reads.read(source, signal);
    const topic = source.topic.slice(this.topicPrefix.length);
    return {
      message: stored === undefined ? lost(refusal, topic) : { ...stored, topic, bytes: 0 },
      messageId: source.messageId,
      namesOthers: true,
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
