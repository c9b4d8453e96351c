import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { isJsonObject, type JsonObject, MAX_BODY_BYTES } from '#libs/contracts';
import { expressionFault } from '#libs/expressions';
import { readClockSettings } from './clock-settings.js';
import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';
import { readErpSettings } from './erp-settings.js';
import { listenAddress } from './http-settings.js';
import { checkAuthority, checkPair, readKafkaSettings } from './kafka-settings.js';
import { readProxySettings } from './proxy-settings.js';
import { serviceUrlFault } from './service-url.js';

export const SENDER_PATHS = ['/orders', '/lists', '/reasons', '/events', '/metrics'] as const;
export type SenderPath = (typeof SENDER_PATHS)[number];
/** Paths of documents; each belongs to one topic. */
export type DocumentPath = Exclude<SenderPath, '/events' | '/metrics'>;

/** A program that may post, from `INGEST_SENDERS_FILE`; it has at least one way of identification. */
export interface IngestSender {
  name: string;
  /** SHA-256 of its bearer token. */
  tokenDigest?: Buffer | undefined;
  /** Key of its signatures. */
  hmacKey?: Buffer | undefined;
  /** SHA-256 fingerprint of its client certificate, hexadecimal, lower case, no colons. */
  certificate?: string | undefined;
  paths: ReadonlySet<SenderPath>;
  /** CloudEvent types, with `*` for any text, and the path whose rules apply to each. */
  eventTypes: readonly (readonly [pattern: string, path: DocumentPath])[];
  requestsPerSecond: number;
  maxBodyBytes: number;
  /** Time after which an unfinished request is answered 503. */
  answerWithinMs: number;
  callback?: IngestCallback | undefined;
}

/** The HTTP request with which a sender receives the outcomes of its messages. */
export interface IngestCallback {
  /** https, or http on loopback. */
  url: string;
  hmacKey: Buffer;
  /** JSONata expression from the CloudEvent to the body; undefined: the CloudEvent is the body. */
  mapping?: string | undefined;
  /** Content type of a mapped body. */
  contentType: string;
  /** Real milliseconds from the request to the end of the answer. */
  timeoutMs: number;
  /** The age of an outcome from which a failed call is its last. */
  giveUpAfterSeconds: number;
}

/** PEM texts. */
export interface IngestTls {
  cert: string;
  key: string;
  /** The authority that has issued the senders' certificates. */
  clientCa?: string | undefined;
}

export type IngestSettings = ReturnType<typeof readIngestSettings>;

const SENDERS_FILE = 'INGEST_SENDERS_FILE';
const [TLS_CERT, TLS_KEY] = ['INGEST_TLS_CERT_FILE', 'INGEST_TLS_KEY_FILE'];
const TLS_CLIENT_CA = 'INGEST_TLS_CLIENT_CA_FILE';
const TLS_BY_PROXY = 'INGEST_TLS_BY_PROXY';
/** The length protects tokens and keys from being guessed. */
const SHORTEST_SECRET = 16;
const NAME = /^[A-Za-z0-9._-]{1,100}$/;
const INSTANCE = /^[A-Za-z0-9._-]{1,200}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const DAY_SECONDS = 86_400;
const STANDARD_SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;

export function loadIngestSettings(environment: Environment): IngestSettings {
  return readSettings(environment, readIngestSettings);
}

function readIngestSettings(env: EnvironmentReader) {
  const { isLoopback, ...http } = listenAddress(env, 'INGEST', 3300);
  /** Undefined on loopback without a file: every local client may post. */
  const senders = env.fromFiles(readSenders);
  const tls = env.fromFiles(readTls);
  const isTlsByProxy = env.flag(TLS_BY_PROXY, false);
  if (!isLoopback && !env.isSet(SENDERS_FILE)) {
    env.refuse(SENDERS_FILE, 'is required when INGEST_HTTP_HOST is not loopback');
  }
  if (!isLoopback && tls === undefined && !isTlsByProxy) {
    env.refuse(
      TLS_CERT,
      `is required when INGEST_HTTP_HOST is not loopback, or ${TLS_BY_PROXY}=true where a proxy ends TLS`,
    );
  }
  const needsCertificates = senders?.value.some(({ certificate }) => certificate !== undefined);
  if (needsCertificates === true && tls?.value.clientCa === undefined) {
    env.refuse(TLS_CLIENT_CA, `is required: ${SENDERS_FILE} has senders with certificates`);
  }
  /** Identifies this process within the group, also after a restart. */
  const instance = env.text('INGEST_INSTANCE', `${hostname()}-${http.port}`);
  if (!INSTANCE.test(instance)) {
    env.refuse('INGEST_INSTANCE', 'must be 1 to 200 letters, digits, dots, hyphens or underscores');
  }
  return {
    ...{ kafka: readKafkaSettings(env), http, instance, senders, tls },
    /** For callbacks. */
    proxy: readProxySettings(env),
    ...{ erp: readErpSettings(env), clock: readClockSettings(env), logLevel: env.logLevel() },
    // last, after all settings have been read
    unsupported: env.ineffectiveSettings(),
  };
}

function readTls(env: EnvironmentReader): IngestTls | undefined {
  const [cert, key, clientCa] = [TLS_CERT, TLS_KEY, TLS_CLIENT_CA].map((name) => env.file(name));
  if (env.isSet(TLS_CERT) !== env.isSet(TLS_KEY)) {
    env.refuse(TLS_CERT, `and ${TLS_KEY} go together`);
  }
  if (env.isSet(TLS_CLIENT_CA) && !env.isSet(TLS_CERT)) {
    env.refuse(TLS_CLIENT_CA, `needs ${TLS_CERT}`);
  }
  checkPair(env, { name: TLS_CERT, pem: cert }, { name: TLS_KEY, pem: key });
  checkAuthority(env, { name: TLS_CLIENT_CA, pem: clientCa });
  if (cert === undefined || key === undefined) return undefined;
  return { cert, key, clientCa };
}

function readSenders(env: EnvironmentReader): readonly IngestSender[] | undefined {
  const json = env.json(SENDERS_FILE);
  if (json === undefined) return env.isSet(SENDERS_FILE) ? [] : undefined;
  const senders = isJsonObject(json) ? json['senders'] : undefined;
  if (!isJsonObject(senders) || Object.keys(senders).length === 0) {
    env.refuse(SENDERS_FILE, 'must hold a JSON object {"senders": {"<name>": {...}}}');
    return [];
  }
  const all = Object.entries(senders).map(([name, value]) => readSender(env, name, value));
  const identities = {
    token: all.flatMap(({ tokenDigest }) => tokenDigest?.toString('hex') ?? []),
    certificate: all.flatMap(({ certificate }) => certificate ?? []),
  };
  for (const [what, values] of Object.entries(identities)) {
    if (new Set(values).size < values.length) {
      env.refuse(SENDERS_FILE, `has two senders with the same ${what}`);
    }
  }
  return all;
}

const SENDER_FIELDS = [
  ...['token', 'tokenFile', 'tokenSha256', 'hmacSecret', 'hmacSecretFile'],
  ...['certificateSha256', 'paths', 'events', 'requestsPerSecond', 'maxBodyBytes'],
  ...['answerWithinMs', 'callback'],
];

function readSender(env: EnvironmentReader, name: string, value: unknown): IngestSender {
  const setting = `${SENDERS_FILE} ${NAME.test(name) ? `sender ${name}` : 'a sender'}`;
  if (!NAME.test(name)) {
    env.refuse(setting, 'must be named with 1 to 100 letters, digits, ., - or _');
  }
  const fields = new FileFields(env, setting, value, SENDER_FIELDS);
  const token = fields.secret('token');
  const tokenDigest =
    token === undefined
      ? fields.digest('tokenSha256')
      : createHash('sha256').update(token).digest('hex');
  const secret = fields.secret('hmacSecret');
  const certificate = fields.digest('certificateSha256');
  if ([tokenDigest, secret, certificate].every((way) => way === undefined)) {
    fields.refuse('needs token, tokenSha256, hmacSecret or certificateSha256');
  }
  const callback = fields.value('callback');
  return {
    name,
    tokenDigest: tokenDigest === undefined ? undefined : Buffer.from(tokenDigest, 'hex'),
    hmacKey: secret === undefined ? undefined : hmacKeyOf(secret),
    certificate,
    paths: readPaths(fields),
    eventTypes: readEventTypes(fields),
    requestsPerSecond: fields.wholeNumber('requestsPerSecond', 100, 100_000),
    maxBodyBytes: fields.wholeNumber('maxBodyBytes', MAX_BODY_BYTES, MAX_BODY_BYTES),
    answerWithinMs: fields.wholeNumber('answerWithinMs', 5000, 5000),
    callback: callback === undefined ? undefined : readCallback(env, callback, setting),
  };
}

/** Reads the fields of a sender, or of its callback, and reports their problems. */
class FileFields {
  private readonly fields: JsonObject;

  constructor(
    private readonly env: EnvironmentReader,
    private readonly setting: string,
    value: unknown,
    known: readonly string[],
    private readonly part?: string,
  ) {
    this.fields = isJsonObject(value) ? value : {};
    if (Object.keys(this.fields).some((field) => !known.includes(field))) {
      this.refuse('has a field that is not known; docs/ingest.md has them all');
    }
  }

  refuse(what: string): void {
    this.env.refuse(
      this.setting,
      this.part === undefined ? what : `has a ${this.part} that ${what}`,
    );
  }

  value(name: string): unknown {
    return this.fields[name];
  }

  /** The value of a field, or the content of the file that the field `…File` names. */
  contentOf(name: string): unknown {
    const file = this.fields[`${name}File`];
    if (file === undefined) return this.fields[name];
    if (this.fields[name] !== undefined) this.refuse(`has ${name} and ${name}File: keep one`);
    if (typeof file !== 'string') {
      this.refuse(`must have the path of a file in ${name}File`);
      return undefined;
    }
    const part = this.part === undefined ? '' : `${this.part} `;
    return this.env.fileContent(`${this.setting} ${part}${name}File`, file);
  }

  secret(name: string): string | undefined {
    const given = this.contentOf(name);
    if (given === undefined) return undefined;
    if (typeof given === 'string' && given.length >= SHORTEST_SECRET) return given;
    this.refuse(`must have a ${name} of ${SHORTEST_SECRET} characters or more`);
    return undefined;
  }

  digest(name: string): string | undefined {
    const given = this.fields[name];
    if (given === undefined) return undefined;
    const digest = typeof given === 'string' ? given.replaceAll(':', '').toLowerCase() : '';
    if (!DIGEST.test(digest)) this.refuse(`must have 64 hexadecimal digits in ${name}`);
    return digest;
  }

  wholeNumber(name: string, fallback: number, max: number): number {
    const given = this.fields[name] ?? fallback;
    if (Number.isInteger(given) && Number(given) >= 1 && Number(given) <= max) return Number(given);
    this.refuse(`must have a whole number from 1 to ${max} in ${name}`);
    return fallback;
  }
}

const CALLBACK_FIELDS = [
  ...['url', 'hmacSecret', 'hmacSecretFile', 'mapping', 'mappingFile', 'contentType'],
  ...['timeoutMs', 'giveUpAfterSeconds'],
];
const CONTENT_TYPE = /^[\w.+-]+\/[\w.+-]+(; *charset=utf-8)?$/i;

function readCallback(env: EnvironmentReader, value: unknown, setting: string): IngestCallback {
  const fields = new FileFields(env, setting, value, CALLBACK_FIELDS, 'callback');
  const given = fields.value('url');
  const url = typeof given === 'string' ? given : '';
  const fault = serviceUrlFault(url);
  if (fault !== undefined) fields.refuse(`needs a url that ${fault}`);
  if (['hmacSecret', 'hmacSecretFile'].every((name) => fields.value(name) === undefined)) {
    fields.refuse('needs hmacSecret or hmacSecretFile');
  }
  const secret = fields.secret('hmacSecret') ?? '';
  const mapping = fields.contentOf('mapping');
  const mappingFault = typeof mapping === 'string' ? expressionFault(mapping) : undefined;
  if (mapping !== undefined && typeof mapping !== 'string') {
    fields.refuse('has a mapping that is no text');
  }
  if (mappingFault !== undefined) fields.refuse(`has a wrong mapping: ${mappingFault}`);
  const contentType = fields.value('contentType') ?? 'application/json';
  const isType = typeof contentType === 'string' && CONTENT_TYPE.test(contentType);
  if (!isType) fields.refuse('has no media type in contentType');
  return {
    ...{ url, hmacKey: hmacKeyOf(secret), contentType: isType ? contentType : '' },
    mapping: typeof mapping === 'string' ? mapping : undefined,
    timeoutMs: fields.wholeNumber('timeoutMs', 10_000, 60_000),
    giveUpAfterSeconds: fields.wholeNumber('giveUpAfterSeconds', DAY_SECONDS, 7 * DAY_SECONDS),
  };
}

/** A secret of Standard Webhooks (`whsec_…`) is the key in base64; the text of any other is the key itself. */
function hmacKeyOf(secret: string): Buffer {
  if (!STANDARD_SECRET.test(secret)) return Buffer.from(secret, 'utf8');
  return Buffer.from(secret.slice('whsec_'.length), 'base64');
}

function readPaths(fields: FileFields): ReadonlySet<SenderPath> {
  const value = fields.value('paths');
  const paths = Array.isArray(value) ? (value as unknown[]) : [];
  const isKnown = (path: unknown): path is SenderPath =>
    SENDER_PATHS.some((known) => known === path);
  if (paths.length === 0 || !paths.every(isKnown)) {
    fields.refuse(`must have some of ${SENDER_PATHS.join(', ')} in paths`);
  }
  return new Set(paths.filter(isKnown));
}

function readEventTypes(fields: FileFields): IngestSender['eventTypes'] {
  const value = fields.value('events');
  if (value === undefined) return [];
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  const isDocument = (path: unknown): path is DocumentPath =>
    path === '/orders' || path === '/lists' || path === '/reasons';
  if (!isJsonObject(value) || !entries.every(([, path]) => isDocument(path))) {
    fields.refuse('must have an object {"<type>": "/orders", "/lists" or "/reasons"} in events');
  }
  return entries.flatMap(([pattern, path]) => (isDocument(path) ? [[pattern, path] as const] : []));
}
