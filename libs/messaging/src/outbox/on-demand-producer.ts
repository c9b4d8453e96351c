import { withDeadline } from '../deadline.js';
import { type CompressionTypes, type Kafka, type Producer } from '../kafkajs.js';
import { partitionByKey } from '../partition-of.js';
import { type OutboundRecord } from './outbound-record.js';
import { toTopicMessages } from './to-topic-messages.js';

const DISCONNECT_DEADLINE_MS = 2000;
/** For a leader that has just moved; whatever lasts longer must not hold up the answer for the other partitions. */
const RETRIES = 2;

/** A producer that connects when something is sent and is made anew after it has been discarded. */
export class OnDemandProducer {
  private producer: Producer | undefined;

  constructor(private readonly kafka: Kafka) {}

  /** Resolves once all in-sync replicas have the records. */
  async send(records: readonly OutboundRecord[], compression: CompressionTypes): Promise<void> {
    const producer = await this.connected();
    await producer.sendBatch({ acks: -1, compression, topicMessages: toTopicMessages(records) });
  }

  async discard(): Promise<void> {
    const { producer } = this;
    this.producer = undefined;
    await withDeadline(producer?.disconnect(), DISCONNECT_DEADLINE_MS);
  }

  private async connected(): Promise<Producer> {
    if (this.producer !== undefined) return this.producer;
    const producer = this.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: partitionByKey,
      retry: { retries: RETRIES },
    });
    await producer.connect();
    this.producer = producer;
    return producer;
  }
}
