import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type EnvironmentReader } from './environment-reader.js';

const CA = 'KAFKA_SSL_CA_FILE';
const CERT = 'KAFKA_SSL_CERT_FILE';
const KEY = 'KAFKA_SSL_KEY_FILE';
const NO_CERTIFICATE = 'names a file that holds no certificate in PEM';

const LABEL = '(?:X509 |TRUSTED )?CERTIFICATE';
const CERTIFICATE = new RegExp(`-----BEGIN ${LABEL}-----.+?-----END ${LABEL}-----`, 'gs');
const PRIVATE_KEY = /-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----.+?-----END \1PRIVATE KEY-----/s;

/** PEM texts. */
export interface KafkaTlsSettings {
  ca?: string;
  cert?: string;
  key?: string;
}

/**
 * Undefined unless `KAFKA_SSL` is on. The files are parsed: kafkajs would try for ever to connect
 * with broken ones, or trust other authorities than those that were meant.
 */
export function readTls(env: EnvironmentReader): KafkaTlsSettings | undefined {
  const ca = readPem(env, CA);
  const cert = readPem(env, CERT);
  const key = readPem(env, KEY);
  checkPair(env, cert, key);
  if (ca !== undefined && parseCertificates(ca) === undefined) env.problem(CA, NO_CERTIFICATE);
  const enabled = env.flag('KAFKA_SSL', false);
  if (!enabled && [CA, CERT, KEY].some((name) => env.isSet(name))) {
    env.problem('KAFKA_SSL', 'must be true when KAFKA_SSL_…_FILE settings are given');
  }
  if (!enabled) return undefined;
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

function readPem(env: EnvironmentReader, name: string): string | undefined {
  const path = env.optional(name);
  return path === undefined ? undefined : env.fileContent(name, path);
}

function checkPair(
  env: EnvironmentReader,
  cert: string | undefined,
  key: string | undefined,
): void {
  if (env.isSet(CERT) && !env.isSet(KEY)) env.problem(KEY, `is required: ${CERT} is set`);
  if (env.isSet(KEY) && !env.isSet(CERT)) env.problem(CERT, `is required: ${KEY} is set`);
  // The first certificate is the client's own; those after it lead to its authority.
  const [own] = cert === undefined ? [] : (parseCertificates(cert) ?? []);
  const parsedKey = key === undefined ? undefined : parsePrivateKey(key);
  if (cert !== undefined && own === undefined) env.problem(CERT, NO_CERTIFICATE);
  if (key !== undefined && parsedKey === undefined) {
    env.problem(KEY, 'names a file that holds no private key in PEM, or an encrypted one');
  }
  if (own && parsedKey && !own.checkPrivateKey(parsedKey)) {
    env.problem(KEY, `names a file whose key is not that of ${CERT}`);
  }
}

/** All certificates of a PEM text; undefined when there is none, or one that is broken. */
function parseCertificates(pem: string): X509Certificate[] | undefined {
  const blocks = pem.match(CERTIFICATE);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** Undefined when the text holds no private key, or one that asks for a passphrase. */
function parsePrivateKey(pem: string): KeyObject | undefined {
  // OpenSSL may write other blocks before it, such as the parameters of its curve.
  const [block] = PRIVATE_KEY.exec(pem) ?? [];
  try {
    return block === undefined ? undefined : createPrivateKey(block);
  } catch {
    return undefined;
  }
}
