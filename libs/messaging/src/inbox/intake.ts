import { type Batch } from '../kafkajs.js';
import { type EmptyFetch } from './consumer-callbacks.js';
import { type GroupMember } from './group-member.js';
import { type InboundRecord } from './inbound-message.js';
import { type PartitionQueues } from './partition-queues.js';
import { type StateTopics } from './state-topics.js';
import { toInboundRecord } from './to-inbound-record.js';

/**
 * Where that goes which the consumer has fetched: state to what is remembered, messages into the queue of their
 * partition. A queue takes all it is given; of one that is full nothing more is fetched.
 */
export class Intake {
  constructor(
    private readonly topicPrefix: string,
    private readonly memory: StateTopics,
    private readonly queues: PartitionQueues,
    private readonly member: Pick<GroupMember, 'pause'>,
  ) {}

  take(batch: Batch): void {
    if (this.memory.accept(batch)) return;
    const { topic, partition, messages, highWatermark } = batch;
    const name = topic.slice(this.topicPrefix.length);
    const inbound = messages.map((message) => toInboundRecord(name, partition, message));
    const [firstOffset, lastOffset] = [batch.firstOffset(), batch.lastOffset()];
    this.push({ topic, partition, highWatermark, firstOffset, lastOffset }, inbound);
  }

  takeEmpty(fetch: EmptyFetch): void {
    this.push(fetch, []);
  }

  private push(fetch: EmptyFetch, messages: readonly InboundRecord[]): void {
    const { topic, partition } = fetch;
    const [highWatermark, end] = [Number(fetch.highWatermark), Number(fetch.lastOffset) + 1];
    const first = Number(fetch.firstOffset ?? fetch.lastOffset);
    const mustPause = this.queues.push({ topic, partition, highWatermark, first, end }, messages);
    if (mustPause) this.member.pause(topic, partition);
  }
}
