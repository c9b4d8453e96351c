import { type KafkaSettings, loadKafkaSettings, readEnvironment } from '#libs/config';
import { describeKafkaFailure, type KafkaClient, topicNames } from '#libs/kafka';

export const KAFKA_HELP = `
Kafka is found by the KAFKA_… settings of the bridge; without KAFKA_BROKERS at 127.0.0.1:9092.`;

/**
 * Where a command finds Kafka: the bridge's own settings; without KAFKA_BROKERS at 127.0.0.1:9092.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function commandKafkaSettings(): KafkaSettings {
  return loadKafkaSettings({ KAFKA_BROKERS: '127.0.0.1:9092', ...readEnvironment() });
}

/**
 * The topics there are, in full: the first thing a command asks, since what it does afterwards may wait for
 * Kafka for ever.
 *
 * @throws Error that says Kafka is not there, or what is wrong with the way to it
 */
export async function reachTopics(
  kafka: KafkaClient,
  { brokers }: Pick<KafkaSettings, 'brokers'>,
): Promise<string[]> {
  try {
    return await topicNames(kafka);
  } catch (cause) {
    const why = describeKafkaFailure(cause);
    throw new Error(`Kafka cannot be reached at ${brokers.join(', ')}: ${why}`, { cause });
  }
}
