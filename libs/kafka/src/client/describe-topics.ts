import { configsOf, createTopicConfig, type TopicSpecification } from './ensure-topics.js';
import { describeKafkaFailure } from './describe-kafka-failure.js';
import type { Admin, KafkaClient } from './kafka-port.js';
import { allEnded, withAdmin } from './with-admin.js';

export interface TopicDescription {
  partitions: number;
  /** Replicas of the partition with the fewest. */
  replicas: number;
  /** Configuration by name; empty without the right to DescribeConfigs. */
  config: ReadonlyMap<string, string>;
}

const CONFIG_NAMES = [
  'cleanup.policy',
  'retention.ms',
  'retention.bytes',
  'min.insync.replicas',
  'max.message.bytes',
];

/** Describes the topics that exist and may be described. @throws when Kafka does not answer */
export async function describeTopics(
  kafka: KafkaClient,
  names: readonly string[],
): Promise<ReadonlyMap<string, TopicDescription>> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const found = names.filter((name) => existing.has(name));
    if (found.length === 0) return new Map();
    const [{ topics }, configs] = await allEnded([
      admin.fetchTopicMetadata({ topics: found }),
      readableConfigs(admin, found),
    ]);
    return new Map(
      topics.map(({ name, partitions }) => {
        const replicas = Math.min(...partitions.map((partition) => partition.replicas.length));
        const config = configs.get(name) ?? new Map<string, string>();
        return [name, { partitions: partitions.length, replicas, config }];
      }),
    );
  });
}

async function readableConfigs(
  admin: Admin,
  names: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  try {
    return await configsOf(admin, names, CONFIG_NAMES);
  } catch {
    if (names.length === 1) return new Map();
    // One topic without the right fails the request for all.
    const each = await allEnded(names.map((name) => readableConfigs(admin, [name])));
    return new Map(each.flatMap((configs) => [...configs]));
  }
}

/** Validates the creation of topics without creating them; returns by name why the brokers refuse some. */
export async function refusedTopics(
  kafka: KafkaClient,
  topics: readonly TopicSpecification[],
  partitions: number,
): Promise<ReadonlyMap<string, string>> {
  return withAdmin(kafka, async (admin) => {
    const refused = new Map<string, string>();
    for (const topic of topics) {
      try {
        await admin.createTopics({
          validateOnly: true,
          waitForLeaders: false,
          topics: [createTopicConfig(topic, partitions)],
        });
      } catch (error) {
        refused.set(topic.name, describeKafkaFailure(error, { topics: [topic.name] }));
      }
    }
    return refused;
  });
}
