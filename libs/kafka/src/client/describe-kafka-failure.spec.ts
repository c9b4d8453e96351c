import { describeKafkaFailure } from './describe-kafka-failure.js';

/** An error as Node or kafkajs makes it. */
function failure(message: string, marks: Record<string, unknown> = {}): Error {
  return Object.assign(new Error(message), marks);
}

describe('describeKafkaFailure', () => {
  it.each([
    ['KAFKA_SSL_CA_FILE', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }],
    ['KAFKA_SSL_CA_FILE', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }],
    ['KAFKA_SSL_CA_FILE', { code: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' }],
    ['KAFKA_SSL_CA_FILE', { code: 'CERT_SIGNATURE_FAILURE' }],
    ['not valid at this time', { code: 'CERT_NOT_YET_VALID' }],
    ['KAFKA_SSL_CERT_FILE', { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }],
    ['KAFKA_SSL_CERT_FILE', { code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' }],
    ['KAFKA_SSL_CERT_FILE', { code: 'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE' }],
    ['KAFKA_SSL and KAFKA_BROKERS', { code: 'ERR_SSL_WRONG_VERSION_NUMBER' }],
    ['start it, or correct KAFKA_BROKERS', { code: 'ECONNREFUSED' }],
    ['advertised.listeners', { code: 'ENOTFOUND' }],
    ['KAFKA_SASL_OAUTH_CLIENT_SECRET', { code: 'NO_TOKEN' }],
    ['the broker refuses the token of KAFKA_SASL_OAUTH_TOKEN_URL', { code: 'TOKEN_REFUSED' }],
    ['KAFKA_SASL_MECHANISM', { type: 'UNSUPPORTED_SASL_MECHANISM', code: 33 }],
    ['knows no login at this port', { type: 'ILLEGAL_SASL_STATE', code: 34 }],
    ['connections.max.reauth.ms', { type: 'ILLEGAL_SASL_STATE', code: 'RENEWED_TOO_SOON' }],
  ])('points to %s for %j', (setting, marks) => {
    expect(describeKafkaFailure(failure('it broke', marks))).toContain(setting);
  });

  it.each(['Broker not connected', 'Connection timeout'])('says what to look at: %s', (message) => {
    expect(describeKafkaFailure(failure(message))).toBe(
      `no broker answers there: if that goes on, look at it and at the way to it, or correct KAFKA_BROKERS (${message})`,
    );
  });

  it('finds the cause of the error that reports the last of many tries', () => {
    const refused = failure('SASL PLAIN authentication failed', {
      name: 'KafkaJSSASLAuthenticationError',
    });
    const givenUp = new Error('given up', { cause: refused });
    expect(describeKafkaFailure(givenUp)).toContain('KAFKA_SASL_PASSWORD');
  });

  it('names the broker, and leaves out the internals of OpenSSL', () => {
    const error = failure('80BC:error:0A000412:SSL routines:rec_layer_s3.c:1601\n', {
      code: 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
      broker: 'kafka-1:9093',
    });
    const text = describeKafkaFailure(error);
    expect(text).toContain('(kafka-1:9093: ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE)');
    expect(text).not.toContain('rec_layer');
  });

  it.each([
    ['TOPIC_AUTHORIZATION_FAILED', 'Write or Describe on one of events, states'],
    // what kafkajs makes of a transaction of which one topic is refused
    ['OPERATION_NOT_ATTEMPTED', 'on one of events, states, unless it was deleted'],
    ['MESSAGE_TOO_LARGE', 'max.message.bytes allows of one of events, states'],
    ['INVALID_RECORD', 'not taken by one of events, states: where its cleanup.policy is compact'],
    ['OFFSET_METADATA_TOO_LARGE', 'raise their offset.metadata.max.bytes'],
    ['INVALID_TRANSACTION_TIMEOUT', 'raise their transaction.max.timeout.ms to 30000'],
    ['INVALID_SESSION_TIMEOUT', 'their group.min.session.timeout.ms has to be 8000 or less'],
    ['NOT_ENOUGH_REPLICAS', 'min.insync.replicas asks for of one of events, states'],
    ['CONCURRENT_TRANSACTIONS', 'fewer replicas in sync than its min.insync.replicas asks for'],
    ['GROUP_COORDINATOR_NOT_AVAILABLE', '__consumer_offsets or __transaction_state has no leader'],
    ['LEADER_NOT_AVAILABLE', 'of one of events, states has no leader'],
    ['UNKNOWN_TOPIC_OR_PARTITION', 'of one of events, states'],
  ])('says of %s in a write what is wrong, and where', (type, what) => {
    const refused = failure('refused', { name: 'KafkaJSProtocolError', type });
    const error = new Error('refused', { cause: refused });
    const asked = { right: 'Write', topics: ['events', 'states'] } as const;
    expect(describeKafkaFailure(error, asked)).toContain(what);
  });

  it('names a single topic, and the right that the request takes', () => {
    const refused = failure('Not authorized', { type: 'TOPIC_AUTHORIZATION_FAILED' });
    expect(describeKafkaFailure(refused, { right: 'Write', topics: ['events'] })).toBe(
      'a right is missing: Write or Describe on events (TOPIC_AUTHORIZATION_FAILED)',
    );
    expect(describeKafkaFailure(refused, { right: 'Read' })).toBe(
      'a right is missing: Read or Describe on one of the topics (TOPIC_AUTHORIZATION_FAILED)',
    );
    expect(describeKafkaFailure(refused)).toContain('Read, Write or Describe on one of');
  });

  it('takes the topic from the error, or from one that it caused', () => {
    const refused = failure('Not authorized', { type: 'TOPIC_AUTHORIZATION_FAILED' });
    const notWidened = Object.assign(new Error('not widened', { cause: refused }), {
      topic: 'fences',
      right: 'Alter',
    });
    expect(describeKafkaFailure(notWidened)).toContain('Alter on fences');
    const error = failure('Topic metadata not loaded', {
      name: 'KafkaJSTopicMetadataNotLoaded',
      topic: 'events',
    });
    expect(describeKafkaFailure(error)).toContain('of events');
  });

  it('points to rights on the group and its transactional ids', () => {
    const group = 'Read on groups whose names begin with that of KAFKA_GROUP_ID';
    const ids =
      'Write and Describe on transactional ids whose names begin with that of KAFKA_GROUP_ID';
    const describe = (marks: Record<string, string>): string =>
      describeKafkaFailure(failure('refused', marks));
    expect(describe({ type: 'GROUP_AUTHORIZATION_FAILED' })).toContain(group);
    expect(describe({ type: 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' })).toContain(ids);
    const either = describe({ name: 'KafkaJSGroupCoordinatorNotFound' });
    expect(either).toContain(group);
    expect(either).toContain(ids);
  });

  it('advises that another program in the group, or the bridge, needs another group', () => {
    const stranger = failure('incompatible', { type: 'INCONSISTENT_GROUP_PROTOCOL' });
    expect(describeKafkaFailure(stranger)).toContain('give one of them another KAFKA_GROUP_ID');
  });

  it.each([
    ['TOPIC_AUTHORIZATION_FAILED', 'Create'],
    ['CLUSTER_AUTHORIZATION_FAILED', 'Create'],
    ['POLICY_VIOLATION', 'policy'],
    ['INVALID_TOPIC_EXCEPTION', 'KAFKA_TOPIC_PREFIX'],
    ['INVALID_REPLICATION_FACTOR', 'default.replication.factor'],
    ['INVALID_PARTITIONS', 'KAFKA_TOPIC_PARTITIONS'],
    ['INVALID_CONFIG', 'max.message.bytes'],
    ['NOT_HEARD_OF_YET', 'in the words of the broker'],
  ])('says why topics are not created for %s, and which', (type, what) => {
    const errors = ['a', 'b'].map((topic) =>
      failure('in the words of the broker', { type, topic }),
    );
    const there = failure('is there', { type: 'TOPIC_ALREADY_EXISTS', topic: 'c' });
    const error = failure('Topic creation errors', {
      name: 'KafkaJSAggregateError',
      errors: [...errors, there],
    });
    const text = describeKafkaFailure(error);
    expect(text).toMatch(/: a, b$/);
    expect(text).toContain(what);
    expect(text).toContain(`(${type})`);
    expect(text).not.toContain('is there');
  });

  it('names each reason why topics are not created', () => {
    const errors = [
      failure('', { type: 'POLICY_VIOLATION', topic: 'a' }),
      failure('', { type: 'TOPIC_AUTHORIZATION_FAILED', topic: 'b' }),
    ];
    const error = failure('Topic creation errors', { name: 'KafkaJSAggregateError', errors });
    expect(describeKafkaFailure(error)).toMatch(/policy.*: a; .*Create.*: b$/);
  });

  it('keeps any other error as it is', () => {
    const error = failure('connect EPERM 127.0.0.1:9092', { code: 'EPERM' });
    expect(describeKafkaFailure(error)).toBe('Error: connect EPERM 127.0.0.1:9092');
    expect(describeKafkaFailure('away')).toBe('away');
    const unnamed = failure('too large', { type: 'MESSAGE_TOO_LARGE' });
    expect(describeKafkaFailure(unnamed)).toBe('Error: too large');
  });
});
