import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type KafkaClient, readRecords } from '#libs/messaging';
import { type MessageOrigin, type OriginalMessage } from '../../command-delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { type AssignmentChange } from './assignment-change.js';
import { GatheredReads } from './gathered-reads.js';

/**
 * The messages behind assignment changes, read from where they lie when they must be set aside. Together,
 * because each read is a consumer group of its own: a service that refuses a hundred machines must not
 * become a hundred of them.
 */
@Injectable()
export class OriginalMessages {
  private readonly topicPrefix: string;
  private readonly reads: GatheredReads;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { groupId, topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
  ) {
    this.topicPrefix = topicPrefix;
    this.reads = new GatheredReads((places, signal) =>
      readRecords(kafka, places, { groupIdPrefix: groupId, signal }),
    );
  }

  of(change: AssignmentChange): MessageOrigin {
    return { source: change.source, read: (signal) => this.read(change, signal) };
  }

  /** The message as it was sent; without its value, if its topic no longer holds it. */
  private async read(change: AssignmentChange, signal: AbortSignal): Promise<OriginalMessage> {
    const { source } = change;
    const stored = await this.reads.read(source, signal);
    const topic = source.topic.slice(this.topicPrefix.length);
    if (stored === undefined) return lost(change, topic);
    return { record: { ...stored, topic, bytes: 0 } };
  }
}

/** What is known of a message that its topic no longer holds. */
function lost({ orders, source, key = null }: AssignmentChange, topic: string): OriginalMessage {
  const { partition, offset, messageId } = source;
  const record = {
    topic,
    partition,
    offset,
    timestamp: '0',
    key: nameOf(orders[0]?.orderId ?? key),
    value: null,
    headers: messageId === null ? [] : [['message-id', messageId] as const],
    bytes: 0,
  };
  return { record, remark: 'the message itself is no longer in its topic' };
}

function nameOf(key: string | null): Buffer | null {
  return key === null ? null : Buffer.from(key);
}
