import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readKafkaSettings } from './kafka-settings.js';

function read(environment: Environment) {
  const env = new EnvironmentReader({ KAFKA_BROKERS: 'kafka:9092', ...environment });
  return { settings: readKafkaSettings(env), problems: env.problems };
}

describe('readKafkaSettings', () => {
  it('has a default for everything but the brokers', () => {
    expect(read({})).toEqual({
      settings: {
        brokers: ['kafka:9092'],
        clientId: 'machine-bridge',
        groupId: 'machine-bridge',
        topicPrefix: '',
        createTopics: true,
        topicPartitions: 6,
        commitIntervalMs: 100,
        maxUnpackedBatchBytes: 67_108_864,
      },
      problems: [],
    });
  });

  it('takes what is given', () => {
    const { settings, problems } = read({
      KAFKA_BROKERS: 'my_kafka-1.plant:1, 10.0.0.7:65535,',
      KAFKA_CLIENT_ID: 'bridge-1',
      KAFKA_GROUP_ID: 'plant-1',
      KAFKA_TOPIC_PREFIX: 'plant-1.',
      KAFKA_CREATE_TOPICS: 'false',
      KAFKA_TOPIC_PARTITIONS: '12',
      COMMIT_INTERVAL_MS: '250',
      KAFKA_MAX_UNPACKED_BATCH_BYTES: '1048576',
    });
    expect(settings).toEqual({
      brokers: ['my_kafka-1.plant:1', '10.0.0.7:65535'],
      clientId: 'bridge-1',
      groupId: 'plant-1',
      topicPrefix: 'plant-1.',
      createTopics: false,
      topicPartitions: 12,
      commitIntervalMs: 250,
      maxUnpackedBatchBytes: 1_048_576,
    });
    expect(problems).toEqual([]);
  });

  it.each([
    ['KAFKA_BROKERS', '', 'is required'],
    ['KAFKA_BROKERS', ',', 'is required'],
    ['KAFKA_BROKERS', 'a:9092,b', 'must be host:port'],
    ['KAFKA_BROKERS', 'a:', 'must be host:port'],
    ['KAFKA_BROKERS', ':9092', 'must be host:port'],
    ['KAFKA_BROKERS', 'a:0', 'must be host:port'],
    ['KAFKA_BROKERS', 'a:65536', 'must be host:port'],
    ['KAFKA_BROKERS', 'a:9092,kafka://b:9092', 'must be host:port'],
    ['KAFKA_BROKERS', 'a :9092', 'must be host:port'],
    ['KAFKA_BROKERS', 'a b:9092', 'must be host:port'],
    ['KAFKA_BROKERS', 'a:9092 b:9092', 'must be host:port'],
    ['KAFKA_BROKERS', 'user@a:9092', 'must be host:port'],
    ['KAFKA_BROKERS', '[::1]:9092', 'must be host:port'],
    ['KAFKA_TOPIC_PREFIX', 'plant 1/', 'may hold letters, digits'],
    ['KAFKA_TOPIC_PREFIX', 'x'.repeat(151), 'may have 150 characters at most'],
    ['KAFKA_CREATE_TOPICS', '1', 'must be true or false'],
    ['KAFKA_TOPIC_PARTITIONS', '0', 'must be a whole number from 1 to 1000'],
    ['COMMIT_INTERVAL_MS', '0.1 s', 'must be a whole number from 0 to 60000'],
    ['KAFKA_MAX_UNPACKED_BATCH_BYTES', '64MiB', 'must be a whole number from 1024 to 1073741824'],
    ['KAFKA_SSL', 'on', 'must be true or false'],
  ])('refuses %s=%s: %s', (name, value, why) => {
    const { problems } = read({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`${name} ${why}`);
  });

  describe('SASL', () => {
    const credentials = { KAFKA_SASL_USERNAME: 'bridge', KAFKA_SASL_PASSWORD: 'hunter2' };

    it.each(['plain', 'scram-sha-256', 'scram-sha-512'])('logs in by %s', (mechanism) => {
      const { settings, problems } = read({ KAFKA_SASL_MECHANISM: mechanism, ...credentials });
      expect(settings.sasl).toEqual({ mechanism, username: 'bridge', password: 'hunter2' });
      expect(problems).toEqual([]);
    });

    it('refuses other mechanisms', () => {
      const { problems } = read({ KAFKA_SASL_MECHANISM: 'oauthbearer', ...credentials });
      expect(problems).toEqual([
        'KAFKA_SASL_MECHANISM must be one of plain, scram-sha-256, scram-sha-512',
      ]);
    });

    it('asks for user name and password', () => {
      expect(read({ KAFKA_SASL_MECHANISM: 'plain' }).problems).toEqual([
        'KAFKA_SASL_USERNAME is required: KAFKA_SASL_MECHANISM is set',
        'KAFKA_SASL_PASSWORD or KAFKA_SASL_PASSWORD_FILE is required: KAFKA_SASL_MECHANISM is set',
      ]);
    });

    it.each(['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD', 'KAFKA_SASL_PASSWORD_FILE'])(
      'does not let %s go unused',
      (name) => {
        expect(read({ [name]: 'hunter2' }).problems).toEqual([
          `KAFKA_SASL_MECHANISM is required beside ${name}`,
        ]);
      },
    );
  });
});
