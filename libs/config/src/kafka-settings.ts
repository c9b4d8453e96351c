import { type Environment, EnvironmentReader } from './environment-reader.js';
import { SettingsError } from './settings-error.js';

const SASL_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;

interface KafkaTlsSettings {
  ca?: string;
  cert?: string;
  key?: string;
}

interface KafkaSaslSettings {
  mechanism: (typeof SASL_MECHANISMS)[number];
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
  tls?: KafkaTlsSettings;
  sasl?: KafkaSaslSettings;
}

const TOPIC_PREFIX = /^[A-Za-z0-9._-]{0,150}$/;

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
  const brokers = env.list('KAFKA_BROKERS', []);
  if (brokers.length === 0) {
    env.problem('KAFKA_BROKERS', 'is required: host:port of one or more brokers, by commas');
  }
  if (brokers.some((broker) => !/^.+:\d+$/.test(broker))) {
    env.problem('KAFKA_BROKERS', 'must be host:port, by commas');
  }
  const topicPrefix = env.text('KAFKA_TOPIC_PREFIX', '');
  if (!TOPIC_PREFIX.test(topicPrefix)) {
    env.problem('KAFKA_TOPIC_PREFIX', 'may hold letters, digits, dots, underscores and dashes');
  }
  const tls = readTls(env);
  const sasl = readSasl(env);
  return {
    brokers,
    clientId: env.text('KAFKA_CLIENT_ID', 'machine-bridge'),
    groupId: env.text('KAFKA_GROUP_ID', 'machine-bridge'),
    topicPrefix,
    createTopics: env.flag('KAFKA_CREATE_TOPICS', true),
    topicPartitions: env.integer('KAFKA_TOPIC_PARTITIONS', { default: 6, min: 1, max: 1000 }),
    ...(tls && { tls }),
    ...(sasl && { sasl }),
  };
}

function readTls(env: EnvironmentReader): KafkaTlsSettings | undefined {
  const tls: KafkaTlsSettings = {};
  for (const part of ['ca', 'cert', 'key'] as const) {
    const name = `KAFKA_SSL_${part.toUpperCase()}_FILE`;
    const path = env.optional(name);
    const content = path === undefined ? undefined : env.fileContent(name, path);
    if (content !== undefined) tls[part] = content;
  }
  const enabled = env.flag('KAFKA_SSL', false);
  if (!enabled && Object.keys(tls).length > 0) {
    env.problem('KAFKA_SSL', 'must be true when KAFKA_SSL_…_FILE settings are given');
  }
  return enabled ? tls : undefined;
}

function readSasl(env: EnvironmentReader): KafkaSaslSettings | undefined {
  if (env.optional('KAFKA_SASL_MECHANISM') === undefined) return undefined;
  const mechanism = env.oneOf('KAFKA_SASL_MECHANISM', SASL_MECHANISMS, 'plain');
  const username = env.required('KAFKA_SASL_USERNAME', 'KAFKA_SASL_MECHANISM is set');
  const password = env.secret('KAFKA_SASL_PASSWORD');
  if (password === undefined) {
    env.problem('KAFKA_SASL_PASSWORD', 'is required: KAFKA_SASL_MECHANISM is set');
  }
  return { mechanism, username, password: password ?? '' };
}
