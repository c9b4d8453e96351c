import { type TopicMessages } from 'kafkajs';
import { type OutboundRecord } from './outbound-record.js';

/** The shape of kafkajs's sendBatch; the records of a topic keep their order. */
export function toTopicMessages(records: readonly OutboundRecord[]): TopicMessages[] {
  const topics = new Map<string, TopicMessages>();
  for (const { topic, ...message } of records) {
    const entry = topics.get(topic) ?? { topic, messages: [] };
    entry.messages.push(message);
    topics.set(topic, entry);
  }
  return [...topics.values()];
}
