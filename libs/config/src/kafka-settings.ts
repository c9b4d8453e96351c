import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';
import { type KafkaTlsSettings, readTls } from './kafka-tls.js';

interface KafkaSaslSettings {
  mechanism: (typeof MECHANISMS)[number];
  username: string;
  password: string;
}

export interface KafkaSettings {
  brokers: string[];
  clientId: string;
  groupId: string;
  topicPrefix: string;
  createTopics: boolean;
  topicPartitions: number;
  /** Real milliseconds between two transactions of an input partition. */
  commitIntervalMs: number;
  /** Bytes that a record batch may unpack to. */
  maxUnpackedBatchBytes: number;
  tls?: KafkaTlsSettings;
  sasl?: KafkaSaslSettings;
}

const TOPIC_PREFIX = /^[A-Za-z0-9._-]*$/;
/** A topic's name holds 249 characters, and the bridge's own names take up to 99 of them. */
const LONGEST_TOPIC_PREFIX = 150;

const MIB = 1024 * 1024;
const UNPACKED_BATCH_BYTES = { default: 64 * MIB, min: 1024, max: 1024 * MIB };
/** No brackets and no colon: kafkajs takes what stands before the first colon for the host. */
const BROKER = /^[A-Za-z0-9._-]+:(?<port>\d{1,5})$/;
const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
const MECHANISM = 'KAFKA_SASL_MECHANISM';
const USERNAME = 'KAFKA_SASL_USERNAME';
const PASSWORD = 'KAFKA_SASL_PASSWORD';

/**
 * Kafka's settings alone, for the commands.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function loadKafkaSettings(environment: Environment): KafkaSettings {
  return readSettings(environment, readKafkaSettings);
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

/** `host:port` of one or more brokers, by commas. */
function readBrokers(env: EnvironmentReader): string[] {
  const name = 'KAFKA_BROKERS';
  const brokers = env.list(name, []);
  if (brokers.length === 0) {
    env.problem(name, 'is required: host:port of one or more brokers, by commas');
  } else if (!brokers.every(isBroker)) {
    env.problem(
      name,
      'must be host:port, by commas: a host name or IPv4 address and a port from 1 to 65535, ' +
        'without blanks and without a scheme such as kafka://',
    );
  }
  return brokers;
}

function isBroker(text: string): boolean {
  const port = Number(BROKER.exec(text)?.groups?.['port']);
  return port >= 1 && port <= 65_535;
}

/** Undefined without a mechanism; unused credentials are a problem. */
function readSasl(env: EnvironmentReader): KafkaSaslSettings | undefined {
  if (!env.isSet(MECHANISM)) {
    const unused = [USERNAME, PASSWORD, `${PASSWORD}_FILE`].filter((name) => env.isSet(name));
    if (unused.length > 0) env.problem(MECHANISM, `is required beside ${unused.join(', ')}`);
    return undefined;
  }
  return {
    mechanism: env.oneOf(MECHANISM, MECHANISMS, 'plain'),
    username: env.required(USERNAME, `${MECHANISM} is set`),
    password: env.requiredSecret(PASSWORD, `${MECHANISM} is set`),
  };
}
