import { type Message, type TopicMessages } from '#libs/kafkajs-patches';
import { type OutboundRecord } from './outbound-record.js';

/** The shape of kafkajs's sendBatch; the records of a topic keep their order. */
export function toTopicMessages(records: readonly OutboundRecord[]): TopicMessages[] {
  const topics = new Map<string, TopicMessages>();
  for (const record of records) {
    const { topic } = record;
    let entry = topics.get(topic);
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }));
    // Taken as it is: kafkajs reads of a message what it knows, and headers are ours to write.
    entry.messages.push(record as Message);
  }
  return [...topics.values()];
}
