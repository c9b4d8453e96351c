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
    ['KAFKA_SASL_MECHANISM', { type: 'UNSUPPORTED_SASL_MECHANISM', code: 33 }],
  ])('points to %s for %j', (setting, marks) => {
    expect(describeKafkaFailure(failure('it broke', marks))).toContain(setting);
  });

  it('looks behind the error that tells of the last of many tries', () => {
    const refused = failure('SASL PLAIN authentication failed', {
      name: 'KafkaJSSASLAuthenticationError',
    });
    const givenUp = new Error('given up', { cause: refused });
    expect(describeKafkaFailure(givenUp)).toContain('KAFKA_SASL_PASSWORD');
  });

  it('says which broker, and leaves the inside of OpenSSL out', () => {
    const error = failure('80BC:error:0A000412:SSL routines:rec_layer_s3.c:1601\n', {
      code: 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
      broker: 'kafka-1:9093',
    });
    const text = describeKafkaFailure(error);
    expect(text).toContain('(kafka-1:9093: ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE)');
    expect(text).not.toContain('rec_layer');
  });

  it('leaves what is not about settings as it is', () => {
    const error = failure('connect ECONNREFUSED 127.0.0.1:9092', { code: 'ECONNREFUSED' });
    expect(describeKafkaFailure(error)).toBe('Error: connect ECONNREFUSED 127.0.0.1:9092');
    expect(describeKafkaFailure('away')).toBe('away');
  });
});
