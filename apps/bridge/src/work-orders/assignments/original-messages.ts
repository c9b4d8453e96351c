import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type KafkaClient } from '#libs/messaging';
import { type MessageOrigin, type OriginalMessage } from '../../command-delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { type AssignmentChange } from './assignment-change.js';
import { readRecord } from './read-record.js';

/**
 * The messages behind assignment changes, read from where they lie when they must be set aside. One
 * read at a time: each is a consumer group of its own, and a service that refuses a hundred machines
 * must not become a hundred of them.
 */
@Injectable()
export class OriginalMessages {
  private readonly groupIdPrefix: string;
  private readonly topicPrefix: string;
  private previous: Promise<unknown> = Promise.resolve();

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { groupId, topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    this.groupIdPrefix = groupId;
    this.topicPrefix = topicPrefix;
  }

  of(change: AssignmentChange): MessageOrigin {
    return { source: change.source, read: (signal) => this.read(change, signal) };
  }

  /** The message as it was sent; without its value, if its topic no longer holds it. */
  private read(change: AssignmentChange, signal: AbortSignal): Promise<OriginalMessage> {
    const { groupIdPrefix, kafka } = this;
    const { source } = change;
    const read = this.previous.then(() => readRecord(kafka, source, { groupIdPrefix, signal }));
    this.previous = read.catch(() => undefined);
    return read.then((stored) => {
      const topic = source.topic.slice(this.topicPrefix.length);
      return stored === undefined
        ? lost(change, topic)
        : { record: { ...stored, topic, bytes: 0 } };
    });
  }
}

/** What is known of a message that its topic no longer holds. */
function lost({ orders, source }: AssignmentChange, topic: string): OriginalMessage {
  const { partition, offset, messageId } = source;
  const record = {
    topic,
    partition,
    offset,
    timestamp: '0',
    key: Buffer.from(orders[0]?.orderId ?? ''),
    value: null,
    headers: messageId === null ? {} : { 'message-id': messageId },
    bytes: 0,
  };
  return { record, remark: 'the message itself is no longer in its topic' };
}
