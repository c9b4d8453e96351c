import { type KafkaSettings, loadKafkaSettings, readEnvironment } from '#libs/config';

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
