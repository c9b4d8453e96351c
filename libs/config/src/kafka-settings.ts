import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { FRAMED_OUTPUTS, type FramedOutput } from '#libs/contracts';
import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';
import { type ProxySettings, readProxySettings } from './proxy-settings.js';
import { isLoopback, readServiceUrl } from './service-url.js';
import type { TokenSettings } from './token-settings.js';

export type KafkaSaslSettings =
  | {
      mechanism: Exclude<(typeof MECHANISMS)[number], 'oauthbearer'>;
      username: string;
      password: string;
    }
  | { mechanism: 'oauthbearer'; client: KafkaOAuthClient; extensions: Record<string, string> };

export interface KafkaOAuthClient extends Omit<Extract<TokenSettings, { kind: 'oauth' }>, 'kind'> {
  /** For token requests; Kafka itself is reached without a proxy. */
  proxy?: ProxySettings | undefined;
}

export type KafkaSettings = ReturnType<typeof readKafkaSettings>;

const TOPIC_PREFIX = /^[A-Za-z0-9._-]*$/;
/** A topic's name may have 249 characters; the bridge's own names have up to 99. */
const LONGEST_TOPIC_PREFIX = 150;

const MIB = 1024 * 1024;
/**
 * The limit also applies to the bridge's own topics: below the minimum, their compressed batches of half a mebibyte could
 * not be restored. A larger record stands alone: that of an order with thousands of operations.
 */
const UNPACKED_BATCH_BYTES = { default: 64 * MIB, min: MIB, max: 1024 * MIB };
/** Kafka's protocol has room for 32,767 bytes; transactional ids add topic and partition. */
const LONGEST_ID_BYTES = 255;
/** The host has no brackets and no colon: kafkajs splits at the first colon. */
const BROKER = /^[A-Za-z0-9._-]+:(?<port>\d{1,5})$/;
const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] as const;
const MECHANISM = 'KAFKA_SASL_MECHANISM';
const USERNAME = 'KAFKA_SASL_USERNAME';
const PASSWORD = 'KAFKA_SASL_PASSWORD';

/** Only Kafka's settings, for the commands. @throws SettingsError with all problems */
export function loadKafkaSettings(environment: Environment): KafkaSettings {
  return readSettings(environment, readKafkaSettings);
}

export function readKafkaSettings(env: EnvironmentReader) {
  const brokers = readBrokers(env);
  const topicPrefix = env.text('KAFKA_TOPIC_PREFIX', '');
  if (!TOPIC_PREFIX.test(topicPrefix)) {
    env.refuse('KAFKA_TOPIC_PREFIX', 'may hold letters, digits, dots, underscores and dashes');
  } else if (topicPrefix.length > LONGEST_TOPIC_PREFIX) {
    env.refuse('KAFKA_TOPIC_PREFIX', `may have ${LONGEST_TOPIC_PREFIX} characters at most`);
  }
  return {
    brokers,
    tls: env.fromFiles(readTls),
    sasl: env.fromFiles(readSasl),
    clientId: readId(env, 'KAFKA_CLIENT_ID'),
    groupId: readId(env, 'KAFKA_GROUP_ID'),
    topicPrefix,
    createTopics: env.flag('KAFKA_CREATE_TOPICS', true),
    topicPartitions: env.integer('KAFKA_TOPIC_PARTITIONS', { default: 6, min: 1, max: 1000 }),
    /** Real milliseconds between two transactions of an input partition. */
    commitIntervalMs: env.integer('COMMIT_INTERVAL_MS', { default: 100, max: 60_000 }),
    /** Limit for a decompressed record batch. */
    maxUnpackedBatchBytes: env.integer('KAFKA_MAX_UNPACKED_BATCH_BYTES', UNPACKED_BATCH_BYTES),
  };
}

function readId(env: EnvironmentReader, name: string): string {
  const id = env.text(name, 'machine-bridge');
  if (/\p{Cc}/u.test(id)) env.refuse(name, 'must not hold line breaks or control characters');
  if (Buffer.byteLength(id) > LONGEST_ID_BYTES) {
    env.refuse(name, `may have ${LONGEST_ID_BYTES} bytes at most`);
  }
  return id;
}

/** `host:port` of one or more brokers, separated by commas. */
function readBrokers(env: EnvironmentReader): string[] {
  const name = 'KAFKA_BROKERS';
  const brokers = env.list(name, []);
  if (brokers.length === 0) {
    env.refuse(name, 'is required: host:port of one or more brokers, by commas');
  } else if (!brokers.every(isBroker)) {
    env.refuse(
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

const BY_PASSWORD = [USERNAME, PASSWORD, `${PASSWORD}_FILE`];
const OAUTH = 'KAFKA_SASL_OAUTH';
const BY_TOKEN = [
  ...['TOKEN_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'CLIENT_SECRET_FILE', 'SCOPE', 'EXTENSIONS'],
].map((name) => `${OAUTH}_${name}`);

/** Undefined without a mechanism. Unused credentials are a problem. */
function readSasl(env: EnvironmentReader): KafkaSaslSettings | undefined {
  const isSet = (name: string): boolean => env.isSet(name);
  if (!isSet(MECHANISM)) {
    const unused = [...BY_PASSWORD, ...BY_TOKEN].filter(isSet);
    if (unused.length > 0) env.refuse(MECHANISM, `is required beside ${unused.join(', ')}`);
    return undefined;
  }
  const mechanism = env.oneOf(MECHANISM, MECHANISMS, 'plain');
  const unused = (mechanism === 'oauthbearer' ? BY_PASSWORD : BY_TOKEN).filter(isSet);
  if (unused.length > 0) {
    env.refuse(unused.join(', '), `must not be set: ${MECHANISM} is ${mechanism}`);
  }
  if (mechanism === 'oauthbearer') return readTokenLogin(env);
  return {
    mechanism,
    username: env.required(USERNAME, `${MECHANISM} is set`),
    password: env.requiredSecret(PASSWORD, `${MECHANISM} is set`),
  };
}

function readTokenLogin(env: EnvironmentReader): KafkaSaslSettings {
  const why = `${MECHANISM} is oauthbearer`;
  const client = {
    scope: env.optional(`${OAUTH}_SCOPE`),
    proxy: readProxySettings(env),
    tokenUrl: readServiceUrl(env, `${OAUTH}_TOKEN_URL`, why),
    clientId: env.required(`${OAUTH}_CLIENT_ID`, why),
    clientSecret: env.requiredSecret(`${OAUTH}_CLIENT_SECRET`, why),
  };
  return { mechanism: 'oauthbearer', client, extensions: readExtensions(env) };
}

/** RFC 7628, section 3.1; `auth` is the token's own key. */
const EXTENSION = /^(?<key>(?!auth=)[A-Za-z]+)=(?<value>[\x20-\x7e\t]+)$/;

function readExtensions(env: EnvironmentReader): Record<string, string> {
  const name = `${OAUTH}_EXTENSIONS`;
  const extensions = env.list(name, []).map((text) => EXTENSION.exec(text)?.groups);
  if (extensions.includes(undefined)) {
    env.refuse(name, 'must be key=value, by commas: a key is of letters, and not auth');
  }
  return Object.fromEntries(
    extensions.map((groups) => [groups?.['key'] ?? '', groups?.['value'] ?? '']),
  );
}

const CA = 'KAFKA_SSL_CA_FILE';
const CERT = 'KAFKA_SSL_CERT_FILE';
const KEY = 'KAFKA_SSL_KEY_FILE';
const NO_CERTIFICATE = 'names a file that holds no certificate in PEM';

const LABEL = '(?:X509 |TRUSTED )?CERTIFICATE';
const CERTIFICATE = new RegExp(`-----BEGIN ${LABEL}-----.+?-----END ${LABEL}-----`, 'gs');
const PRIVATE_KEY = /-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----.+?-----END \1PRIVATE KEY-----/s;

/** PEM texts. */
export interface KafkaTlsSettings {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
}

/**
 * Undefined unless `KAFKA_SSL` is on. The files are parsed, because with invalid ones kafkajs would retry the
 * connection forever, or trust other authorities than the configured ones.
 */
export function readTls(env: EnvironmentReader): KafkaTlsSettings | undefined {
  const [ca, cert, key] = [CA, CERT, KEY].map((name) => env.file(name));
  if (env.isSet(CERT) && !env.isSet(KEY)) env.refuse(KEY, `is required: ${CERT} is set`);
  if (env.isSet(KEY) && !env.isSet(CERT)) env.refuse(CERT, `is required: ${KEY} is set`);
  checkPair(env, { name: CERT, pem: cert }, { name: KEY, pem: key });
  checkAuthority(env, { name: CA, pem: ca });
  const enabled = env.flag('KAFKA_SSL', false);
  if (!enabled && [CA, CERT, KEY].some((name) => env.isSet(name))) {
    env.refuse('KAFKA_SSL', 'must be true when KAFKA_SSL_…_FILE settings are given');
  }
  return enabled ? { ca, cert, key } : undefined;
}

/** The content of a setting's file; undefined without a file. */
interface PemFile {
  name: string;
  pem: string | undefined;
}

export function checkAuthority(env: EnvironmentReader, { name, pem }: PemFile): void {
  if (pem !== undefined && parseCertificates(pem) === undefined) env.refuse(name, NO_CERTIFICATE);
}

export function checkPair(
  env: EnvironmentReader,
  { name: certName, pem: cert }: PemFile,
  { name: keyName, pem: key }: PemFile,
): void {
  // the first certificate is the client's own; the others lead to its authority
  const [own] = cert === undefined ? [] : (parseCertificates(cert) ?? []);
  const parsedKey = key === undefined ? undefined : parsePrivateKey(key);
  if (cert !== undefined && own === undefined) env.refuse(certName, NO_CERTIFICATE);
  if (key !== undefined && parsedKey === undefined) {
    env.refuse(keyName, 'names a file that holds no private key in PEM, or an encrypted one');
  }
  if (own && parsedKey && !own.checkPrivateKey(parsedKey)) {
    env.refuse(keyName, `names a file whose key is not that of ${certName}`);
  }
}

/** All certificates of a PEM text; undefined where it has none, or an invalid one. */
function parseCertificates(pem: string): X509Certificate[] | undefined {
  const blocks = pem.match(CERTIFICATE);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** Undefined where the text has no private key, or one with a passphrase. */
function parsePrivateKey(pem: string): KeyObject | undefined {
  // OpenSSL may write other blocks before the key, such as the parameters of its curve
  const [block] = PRIVATE_KEY.exec(pem) ?? [];
  try {
    return block === undefined ? undefined : createPrivateKey(block);
  } catch {
    return undefined;
  }
}

export interface SchemaRegistrySettings {
  /** Includes the base path of the registry's API. */
  url: string;
  /** Value of `Authorization`. */
  authorization?: string;
  proxy?: ProxySettings;
  /** Outputs that are published in frames. */
  outputs: readonly FramedOutput[];
}

const REGISTRY_URL = 'KAFKA_SCHEMA_REGISTRY_URL';
const REGISTRY_USERNAME = 'KAFKA_SCHEMA_REGISTRY_USERNAME';
const REGISTRY_PASSWORD = 'KAFKA_SCHEMA_REGISTRY_PASSWORD';
const REGISTRY_OUTPUTS = 'KAFKA_SCHEMA_REGISTRY_OUTPUTS';

/** Undefined without a URL. A login or outputs without a URL are a problem. */
export function readSchemaRegistrySettings(
  env: EnvironmentReader,
): SchemaRegistrySettings | undefined {
  const login = [REGISTRY_USERNAME, REGISTRY_PASSWORD, `${REGISTRY_PASSWORD}_FILE`].filter((name) =>
    env.isSet(name),
  );
  const outputs = readFramedOutputs(env);
  const given = env.optional(REGISTRY_URL);
  if (given === undefined) {
    const beside = [...login, ...(outputs.length > 0 ? [REGISTRY_OUTPUTS] : [])];
    if (beside.length > 0) env.refuse(REGISTRY_URL, `is required beside ${beside.join(', ')}`);
    return undefined;
  }
  const fault = registryFault(given, login.length > 0);
  if (fault !== undefined) env.refuse(REGISTRY_URL, fault);
  const proxy = readProxySettings(env);
  const authorization = login.length > 0 ? readRegistryLogin(env) : undefined;
  return {
    url: given,
    ...(authorization !== undefined && { authorization }),
    ...(proxy && { proxy }),
    outputs,
  };
}

function readFramedOutputs(env: EnvironmentReader): FramedOutput[] {
  const known = Object.keys(FRAMED_OUTPUTS) as FramedOutput[];
  const given = env.list(REGISTRY_OUTPUTS, []);
  const isKnown = (name: string): boolean => known.some((output) => output === name);
  if (!given.every(isKnown)) env.refuse(REGISTRY_OUTPUTS, `must be of ${known.join(', ')}`);
  return known.filter((output) => given.includes(output));
}

function readRegistryLogin(env: EnvironmentReader): string {
  const username = env.required(REGISTRY_USERNAME, `${REGISTRY_PASSWORD} is set`);
  const password = env.requiredSecret(REGISTRY_PASSWORD, `${REGISTRY_USERNAME} is set`);
  if (username.includes(':')) env.refuse(REGISTRY_USERNAME, 'must not hold a colon');
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Schemas are not secret: like Kafka, the registry may be reached by plain http, but not with a password. */
function registryFault(raw: string, hasLogin: boolean): string | undefined {
  const url = URL.canParse(raw) && !/\s/.test(raw) ? new URL(raw) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return 'must be one URL such as https://registry.example.com:8081';
  }
  if (url.username !== '' || url.password !== '') {
    return `must not carry a user name or password: set ${REGISTRY_USERNAME} and ${REGISTRY_PASSWORD}`;
  }
  if (hasLogin && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return 'must be https where a login is sent to it';
  }
  return /[?#]/.test(raw) ? 'must not carry a query or fragment' : undefined;
}
