import { realDelayMs } from '#libs/clock';
import { type Kafka, type Message, Partitioners, type Producer } from './stock-kafkajs.js';
import { withAdmin } from './with-admin.js';

type Choose = ReturnType<typeof Partitioners.DefaultPartitioner>;

const RETRY_MS = 50;

interface Batch {
  topic: string;
  messages: readonly Message[];
  /** A failed request is repeated until this signal is aborted; without a signal it is not repeated. */
  signal?: AbortSignal | undefined;
}

/**
 * Writes messages in the order of each partition and each once, even if Kafka is away for longer than kafkajs tries. It
 * repeats a failed request by itself. The repetition has the same sequence numbers, so Kafka drops records that it
 * already has; a repeated successful request would get new numbers and be written twice.
 *
 * If a topic is on several brokers, a request holds messages of one partition only. With a request to several brokers,
 * kafkajs loses one part when a leader moves, and writes another twice (tulios/kafkajs#1798).
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
   * Resolves when Kafka has stored all messages.
   *
   * @throws the error of the latest attempt after `signal` is aborted
   */
  async send({ topic, messages, signal }: Batch): Promise<void> {
    const partitionMetadata = await this.partitionsOf(topic);
    if (new Set(partitionMetadata.flatMap(({ replicas }) => replicas)).size === 1) {
      // there is no other broker that a partition could move to
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
