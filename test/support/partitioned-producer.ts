import { realDelayMs } from '#libs/clock';
import { type Kafka, type Message, Partitioners, type Producer } from './stock-kafkajs.js';
import { withAdmin } from './with-admin.js';

type Choose = ReturnType<typeof Partitioners.DefaultPartitioner>;

const RETRY_MS = 50;

interface Batch {
  topic: string;
  messages: readonly Message[];
  /** Until it is aborted a request that failed is sent again; without one none is. */
  signal?: AbortSignal | undefined;
}

/**
 * Gives messages to Kafka in the order of each partition and each once, also when Kafka is away for longer than
 * kafkajs tries. A request that failed is sent again by itself: it has the sequence numbers it had before, so that
 * Kafka drops what it has, while a request that succeeded would get new ones and be written twice.
 *
 * Where a topic lies on several brokers, a request holds messages of one partition: of a request to several brokers,
 * kafkajs loses a part when a leader moves, and writes another twice (tulios/kafkajs#1798).
 */
export class PartitionedProducer {
  private readonly producer: Producer;
  private readonly choose: Choose = Partitioners.DefaultPartitioner();
  private readonly partitions = new Map<string, Parameters<Choose>[0]['partitionMetadata']>();

  constructor(private readonly kafka: Kafka) {
    this.producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
      allowAutoTopicCreation: false,
      retry: { retries: Number.MAX_SAFE_INTEGER },
    });
  }

  async connect(): Promise<void> {
    await this.producer.connect();
  }

  async disconnect(): Promise<void> {
    await this.producer.disconnect();
  }

  /**
   * Resolves once Kafka has all of them.
   *
   * @throws the error of the latest attempt once `signal` is aborted
   */
  async send({ topic, messages, signal }: Batch): Promise<void> {
    const partitionMetadata = await this.partitionsOf(topic);
    if (new Set(partitionMetadata.flatMap(({ replicas }) => replicas)).size === 1) {
      // There is no other broker that a partition could move to.
      await this.sendUntilTaken({ topic, messages, signal });
      return;
    }
    const byPartition = new Map<number, Message[]>();
    for (const message of messages) {
      const partition = this.choose({ topic, partitionMetadata, message });
      const known = byPartition.get(partition) ?? [];
      known.push({ ...message, partition });
      byPartition.set(partition, known);
    }
    await Promise.all(
      [...byPartition.values()].map((some) =>
        this.sendUntilTaken({ topic, messages: some, signal }),
      ),
    );
  }

  private async sendUntilTaken({ topic, messages, signal }: Batch): Promise<void> {
    for (;;) {
      try {
        await this.producer.send({ topic, messages: [...messages] });
        return;
      } catch (error) {
        if (signal?.aborted !== false) throw error;
        await realDelayMs(RETRY_MS);
      }
    }
  }

  private async partitionsOf(topic: string): Promise<Parameters<Choose>[0]['partitionMetadata']> {
    const known = this.partitions.get(topic);
    if (known !== undefined) return known;
    const { topics } = await withAdmin(this.kafka, (admin) =>
      admin.fetchTopicMetadata({ topics: [topic] }),
    );
    const partitions = topics[0]?.partitions ?? [];
    this.partitions.set(topic, partitions);
    return partitions;
  }
}
