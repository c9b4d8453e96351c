import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readBrokers } from './kafka-brokers.js';
import { type KafkaSaslSettings, readSasl } from './kafka-sasl.js';
import { type KafkaTlsSettings, readTls } from './kafka-tls.js';
import { SettingsError } from './settings-error.js';

export interface KafkaSettings {
  brokers: string[];
  clientId: string;
  groupId: string;
  topicPrefix: string;
  createTopics: boolean;
  topicPartitions: number;
  /** Real milliseconds for which what input leads to is gathered before it is committed. */
  commitIntervalMs: number;
  /** What a record batch may unpack to, in bytes. */
  maxUnpackedBatchBytes: number;
  tls?: KafkaTlsSettings;
  sasl?: KafkaSaslSettings;
}

const TOPIC_PREFIX = /^[A-Za-z0-9._-]*$/;
// a topic's name holds 249 characters, and the bridge's own names take up to 99 of them
const LONGEST_TOPIC_PREFIX = 150;

const MIB = 1024 * 1024;
const UNPACKED_BATCH_BYTES = { default: 64 * MIB, min: 1024, max: 1024 * MIB };

/**
 * Kafka's settings alone, for commands beside the bridge.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function loadKafkaSettings(environment: Environment): KafkaSettings {
  const env = new EnvironmentReader(environment);
  const settings = readKafkaSettings(env);
  if (env.problems.length > 0) throw new SettingsError(env.problems);
  return settings;
}

export function readKafkaSettings(env: EnvironmentReader): KafkaSettings {
  const brokers = readBrokers(env);
  const topicPrefix = env.text('KAFKA_TOPIC_PREFIX', '');
  if (!TOPIC_PREFIX.test(topicPrefix)) {
    env.problem('KAFKA_TOPIC_PREFIX', 'may hold letters, digits, dots, underscores and dashes');
  } else if (topicPrefix.length > LONGEST_TOPIC_PREFIX) {
    env.problem('KAFKA_TOPIC_PREFIX', `may have ${LONGEST_TOPIC_PREFIX} characters at most`);
  }
  const tls = readTls(env);
  const sasl = readSasl(env);
  return {
    brokers,
    clientId: readId(env, 'KAFKA_CLIENT_ID'),
    groupId: readId(env, 'KAFKA_GROUP_ID'),
    topicPrefix,
    createTopics: env.flag('KAFKA_CREATE_TOPICS', true),
    topicPartitions: env.integer('KAFKA_TOPIC_PARTITIONS', { default: 6, min: 1, max: 1000 }),
    commitIntervalMs: env.integer('COMMIT_INTERVAL_MS', { default: 100, max: 60_000 }),
    maxUnpackedBatchBytes: env.integer('KAFKA_MAX_UNPACKED_BATCH_BYTES', UNPACKED_BATCH_BYTES),
    ...(tls && { tls }),
    ...(sasl && { sasl }),
  };
}

function readId(env: EnvironmentReader, name: string): string {
  const id = env.text(name, 'machine-bridge');
  if (/\p{Cc}/u.test(id)) env.problem(name, 'must not hold line breaks or control characters');
  return id;
}
