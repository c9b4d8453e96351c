import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANOTHER_KEY, CERTIFICATE, ENCRYPTED_KEY, KEY_OF_CERTIFICATE } from '../test/tls-files.js';
import { temporaryFile, temporaryFolder } from '../test/temporary-files.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import {
  readKafkaSettings,
  readSchemaRegistrySettings,
  readTls,
  type SchemaRegistrySettings,
} from './kafka-settings.js';

function read(environment: Environment) {
  const env = new EnvironmentReader({ KAFKA_BROKERS: 'kafka:9092', ...environment });
  return { settings: readKafkaSettings(env), problems: env.problems };
}

describe('readKafkaSettings', () => {
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
    ['KAFKA_CLIENT_ID', 'x'.repeat(256), 'may have 255 bytes at most'],
    ['KAFKA_GROUP_ID', 'ü'.repeat(128), 'may have 255 bytes at most'],
  ])('refuses %s=%s: %s', (name, value, why) => {
    const { problems } = read({ [name]: value });
    expect(problems).toEqual([expect.stringContaining(`${name} ${why}`)]);
  });

  describe('SASL', () => {
    const credentials = { KAFKA_SASL_USERNAME: 'bridge', KAFKA_SASL_PASSWORD: 'hunter2' };

    it.each(['plain', 'scram-sha-256', 'scram-sha-512'])('logs in by %s', (mechanism) => {
      const { settings, problems } = read({ KAFKA_SASL_MECHANISM: mechanism, ...credentials });
      const login = { mechanism, username: 'bridge', password: 'hunter2' };
      expect(settings.sasl).toMatchObject({ value: login, files: [] });
      expect(problems).toEqual([]);
    });

    it('refuses other mechanisms', () => {
      const { problems } = read({ KAFKA_SASL_MECHANISM: 'gssapi', ...credentials });
      expect(problems).toEqual([
        'KAFKA_SASL_MECHANISM must be one of plain, scram-sha-256, scram-sha-512, oauthbearer',
      ]);
    });

    const client = {
      KAFKA_SASL_MECHANISM: 'oauthbearer',
      KAFKA_SASL_OAUTH_TOKEN_URL: 'https://login.example.com/token',
      KAFKA_SASL_OAUTH_CLIENT_ID: 'bridge',
      KAFKA_SASL_OAUTH_CLIENT_SECRET: 'hunter2',
    };

    it('logs in by a token for client credentials', () => {
      const { settings, problems } = read({
        ...client,
        KAFKA_SASL_OAUTH_SCOPE: 'kafka',
        KAFKA_SASL_OAUTH_EXTENSIONS: 'logicalCluster=lkc-1, identityPoolId=pool=1',
      });
      expect(problems).toEqual([]);
      expect(settings.sasl?.value).toEqual({
        mechanism: 'oauthbearer',
        client: {
          tokenUrl: 'https://login.example.com/token',
          clientId: 'bridge',
          clientSecret: 'hunter2',
          scope: 'kafka',
        },
        extensions: { logicalCluster: 'lkc-1', identityPoolId: 'pool=1' },
      });
    });

    it('requires all of the client credentials', () => {
      expect(read({ KAFKA_SASL_MECHANISM: 'oauthbearer' }).problems).toEqual([
        'KAFKA_SASL_OAUTH_TOKEN_URL is required: KAFKA_SASL_MECHANISM is oauthbearer',
        'KAFKA_SASL_OAUTH_CLIENT_ID is required: KAFKA_SASL_MECHANISM is oauthbearer',
        'KAFKA_SASL_OAUTH_CLIENT_SECRET or KAFKA_SASL_OAUTH_CLIENT_SECRET_FILE is required: ' +
          'KAFKA_SASL_MECHANISM is oauthbearer',
      ]);
    });

    it.each([
      ['TOKEN_URL', 'http://login.example.com/token', 'must be https'],
      ['EXTENSIONS', 'logicalCluster', 'must be key=value'],
      ['EXTENSIONS', 'auth=Bearer x', 'must be key=value'],
      ['EXTENSIONS', 'logical-cluster=x', 'must be key=value'],
    ])('refuses KAFKA_SASL_OAUTH_%s=%s: %s', (name, value, why) => {
      const { problems } = read({ ...client, [`KAFKA_SASL_OAUTH_${name}`]: value });
      expect(problems).toEqual([expect.stringContaining(`KAFKA_SASL_OAUTH_${name} ${why}`)]);
    });

    it('refuses unused credentials of another mechanism', () => {
      expect(read({ ...client, KAFKA_SASL_USERNAME: 'bridge' }).problems).toEqual([
        'KAFKA_SASL_USERNAME must not be set: KAFKA_SASL_MECHANISM is oauthbearer',
      ]);
      expect(read({ ...client, KAFKA_SASL_MECHANISM: 'plain', ...credentials }).problems).toEqual([
        'KAFKA_SASL_OAUTH_TOKEN_URL, KAFKA_SASL_OAUTH_CLIENT_ID, KAFKA_SASL_OAUTH_CLIENT_SECRET ' +
          'must not be set: KAFKA_SASL_MECHANISM is plain',
      ]);
    });

    it('can be read again with the password in a file', () => {
      const path = temporaryFile('password', 'hunter2\n');
      const { sasl } = read({
        ...{ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'bridge' },
        KAFKA_SASL_PASSWORD_FILE: path,
      }).settings;
      writeFileSync(path, 'hunter3\n');
      expect(sasl).toMatchObject({ value: { password: 'hunter2' }, files: [path] });
      expect(sasl?.readAgain()).toMatchObject({ password: 'hunter3' });
      writeFileSync(path, '');
      expect(() => sasl?.readAgain()).toThrow(
        'KAFKA_SASL_PASSWORD_FILE names a file that is empty',
      );
    });

    it('requires user name and password', () => {
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

const [CA, CERT, KEY] = ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'] as const;

describe('readTls', () => {
  const missing = join(temporaryFolder(), 'missing.pem');
  const cert = temporaryFile('cert.pem', `subject=somebody\n${CERTIFICATE}\n${CERTIFICATE}\n`);
  const key = temporaryFile('key.pem', `${KEY_OF_CERTIFICATE}\n`);

  const read = (environment: Environment) => {
    const env = new EnvironmentReader(environment);
    return { settings: readTls(env), problems: env.problems };
  };
  const problemsOf = (environment: Environment): string[] =>
    read({ KAFKA_SSL: 'true', ...environment }).problems;

  it("trusts the system's authorities unless it is given others", () => {
    expect(read({ KAFKA_SSL: 'true' })).toEqual({ settings: {}, problems: [] });
    const { settings, problems } = read({
      KAFKA_SSL: 'true',
      [CA]: cert,
      [CERT]: cert,
      [KEY]: key,
    });
    expect(problems).toEqual([]);
    expect(settings?.ca).toContain(CERTIFICATE);
    expect(settings?.cert).toContain(CERTIFICATE);
    expect(settings?.key).toBe(KEY_OF_CERTIFICATE.trim());
  });

  it.each([CA, CERT, KEY])('refuses an unused %s, readable or not', (name) => {
    for (const path of [cert, missing]) {
      expect(read({ [name]: path }).problems).toContain(
        'KAFKA_SSL must be true when KAFKA_SSL_…_FILE settings are given',
      );
    }
  });

  it('requires certificate and key together', () => {
    expect(problemsOf({ [CERT]: cert })).toEqual([`${KEY} is required: ${CERT} is set`]);
    expect(problemsOf({ [KEY]: key })).toEqual([`${CERT} is required: ${KEY} is set`]);
  });

  it('names files with other or invalid PEM', () => {
    const broken = temporaryFile(
      'broken.pem',
      `${CERTIFICATE}\n${CERTIFICATE.replace('MIIB', 'AAAA')}`,
    );
    expect(problemsOf({ [CA]: key })).toEqual([
      `${CA} names a file that holds no certificate in PEM`,
    ]);
    expect(problemsOf({ [CA]: broken })).toHaveLength(1);
    const encrypted = temporaryFile('encrypted.pem', ENCRYPTED_KEY);
    expect(problemsOf({ [CERT]: cert, [KEY]: encrypted })).toEqual([
      `${KEY} names a file that holds no private key in PEM, or an encrypted one`,
    ]);
  });

  it('refuses a key that belongs to another certificate', () => {
    expect(problemsOf({ [CERT]: cert, [KEY]: temporaryFile('another.pem', ANOTHER_KEY) })).toEqual([
      `${KEY} names a file whose key is not that of ${CERT}`,
    ]);
  });

  it('finds the key after other blocks that OpenSSL writes', () => {
    const parameters =
      '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----';
    const both = temporaryFile('both.pem', `${parameters}\n${KEY_OF_CERTIFICATE}`);
    expect(problemsOf({ [CERT]: cert, [KEY]: both })).toEqual([]);
  });
});

function readRegistry(
  given: Record<string, string>,
): SchemaRegistrySettings | readonly string[] | undefined {
  const env = new EnvironmentReader(
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name.startsWith('HTTPS') ? name : `KAFKA_SCHEMA_REGISTRY_${name}`,
        value,
      ]),
    ),
  );
  const settings = readSchemaRegistrySettings(env);
  return env.problems.length > 0 ? env.problems : settings;
}

describe('the settings of the schema registry', () => {
  it('may be left out', () => {
    expect(readRegistry({})).toBeUndefined();
  });

  it('may have a login, and a proxy', () => {
    const url = 'https://registry.example.com';
    const given = { URL: url, USERNAME: 'bridge', PASSWORD: 'a:b', HTTPS_PROXY: 'http://p:1' };
    expect(readRegistry(given)).toEqual({
      url,
      authorization: `Basic ${Buffer.from('bridge:a:b').toString('base64')}`,
      proxy: { origin: 'http://p:1', noProxy: [] },
      outputs: [],
    });
  });

  it('may name outputs to be framed', () => {
    const given = { URL: 'http://r:1', OUTPUTS: 'outcomes, state-events,outcomes' };
    expect(readRegistry(given)).toMatchObject({ outputs: ['state-events', 'outcomes'] });
  });

  it.each<[string, Record<string, string>, string]>([
    ['a login without an address', { PASSWORD: 'x' }, 'URL is required beside'],
    ['outputs without an address', { OUTPUTS: 'outcomes' }, 'URL is required beside'],
    ['an unknown output', { URL: 'http://r:1', OUTPUTS: 'all' }, 'must be of state-events'],
    ['a login in the clear', { URL: 'http://r:1', USERNAME: 'a', PASSWORD: 'b' }, 'must be https'],
    ['half a login', { URL: 'https://r', USERNAME: 'a' }, 'PASSWORD or'],
    ['the other half', { URL: 'https://r', PASSWORD: 'a' }, 'USERNAME is required'],
    ['a colon', { URL: 'https://r', USERNAME: 'a:b', PASSWORD: 'a' }, 'must not hold a colon'],
    ['a login in the address', { URL: 'https://a:b@r' }, 'must not carry a user name'],
    ['several addresses', { URL: 'http://a:1, http://b:1' }, 'must be one URL'],
    ['another scheme', { URL: 'ftp://a' }, 'must be one URL'],
    ['a query', { URL: 'https://a?b=c' }, 'must not carry a query'],
  ])('are wrong with %s', (_, given, problem) => {
    const problems = readRegistry(given);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });
});
