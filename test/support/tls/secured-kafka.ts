import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '#libs/config';
import { kafkaTool } from '../../../tools/kafka/console-consumer.mjs';
import { type LocalKafka, startLocalKafka } from '../../../tools/kafka/local-kafka.mjs';
import { Authority, type Identity } from './authority.js';
import type { TokenServer } from './token-server.js';

export const USER = 'plant-bridge';
export const PASSWORD = 'hunter2-of-the-plant';
const SCRAM = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

/** A broker that accepts logins over TLS, and clients with a certificate. */
export interface SecuredKafka {
  broker: LocalKafka;
  /** Issues the broker's certificates and the clients'. */
  authority: Authority;
  /** The broker's addresses for clients, by the login or certificate that they use. */
  addresses: {
    /** SASL_SSL; its certificate is for `localhost`, not for an address. */
    login: string;
    /** SSL, for clients with a certificate; the broker's own is for 127.0.0.1, not for a name. */
    mutual: string;
    /** SSL; its certificate has expired. */
    expired: string;
    /** SASL_PLAINTEXT, for logins by PLAIN only. */
    unencrypted: string;
    /** SASL_PLAINTEXT, for logins with a token of the token server, if there is one. */
    token: string;
  };
  /** The authority's certificate. */
  caFile: string;
  /** Settings of a login over TLS with user and password. */
  passwordLogin: Environment;
  /** Makes the broker show another certificate to clients with a login, from its next start on. */
  present: (identity: Identity) => Promise<unknown>;
  /** Makes the broker show a certificate of this authority, and accept clients with one, from its next start on. */
  trust: (authority: Authority) => Promise<void>;
  /** Changes the password of logins by SCRAM-SHA-512; the broker must be running. */
  setPassword: (password: string) => Promise<void>;
  /** Writes a file beside the broker's data, and returns its path. */
  write: (name: string, content: string) => Promise<string>;
}

interface SecuredKafkaOptions {
  /** The server whose tokens the broker accepts. */
  tokens?: TokenServer;
  /** How long a login is valid on a connection. */
  maxReauthMs?: number;
}

export async function startSecuredKafka(
  dir: string,
  { tokens, maxReauthMs }: SecuredKafkaOptions = {},
): Promise<SecuredKafka> {
  await mkdir(dir, { recursive: true });
  const write = async (name: string, content: string): Promise<string> => {
    const path = join(dir, name);
    await writeFile(path, content);
    return path;
  };
  const shows = async (name: string, { key, certificate }: Identity) => ({
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': await write(`${name}.pem`, key + certificate),
  });
  const authority = new Authority('Plant CA');
  const byName = authority.identify({ name: 'broker', hosts: ['localhost'] });
  const byAddress = { name: 'broker', hosts: ['127.0.0.1'] };
  const security = {
    login: { ...(await shows('login', byName)), ...LOGINS },
    mutual: {
      ...(await shows('mutual', authority.identify(byAddress))),
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': await write('clients-ca.pem', authority.certificate),
      'ssl.client.auth': 'required',
    },
    expired: await shows('expired', authority.identify({ ...byAddress, days: -1 })),
  };
  const reauth =
    maxReauthMs === undefined ? {} : { 'connections.max.reauth.ms': String(maxReauthMs) };
  const trust = async (authority: Authority): Promise<void> => {
    await shows('mutual', authority.identify(byAddress));
    await write('clients-ca.pem', authority.certificate);
  };
  const broker = await startLocalKafka({
    dir,
    listeners: [
      {
        name: 'LOGIN',
        protocol: 'SASL_SSL',
        host: 'localhost',
        security: { ...security.login, ...reauth },
      },
      { name: 'MUTUAL', protocol: 'SSL', security: security.mutual },
      { name: 'EXPIRED', protocol: 'SSL', security: security.expired },
      { name: 'UNENCRYPTED', protocol: 'SASL_PLAINTEXT', security: PLAIN_LOGIN },
      ...(tokens === undefined
        ? []
        : [{ name: 'TOKEN', protocol: 'SASL_PLAINTEXT', security: tokenLogin(tokens) } as const]),
    ],
    ...(tokens && { systemProperties: { [ALLOWED_URLS]: tokens.jwksUrl } }),
    scramUsers: SCRAM.map((mechanism) => ({ mechanism, name: USER, password: PASSWORD })),
  });
  const addresses = {
    login: `localhost:${broker.ports['LOGIN']}`,
    mutual: `127.0.0.1:${broker.ports['MUTUAL']}`,
    expired: `127.0.0.1:${broker.ports['EXPIRED']}`,
    unencrypted: `127.0.0.1:${broker.ports['UNENCRYPTED']}`,
    token: `127.0.0.1:${broker.ports['TOKEN']}`,
  };
  const caFile = await write('ca.pem', authority.certificate);
  const passwordLogin = {
    KAFKA_BROKERS: addresses.login,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: caFile,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: PASSWORD,
  };
  const present = (identity: Identity): Promise<unknown> => shows('login', identity);
  const setPassword = (password: string): Promise<void> => changePassword(broker, password);
  return {
    ...{ broker, authority, addresses, caFile, passwordLogin },
    ...{ present, trust, setPassword, write },
  };
}

async function changePassword({ brokers }: LocalKafka, password: string): Promise<void> {
  const [program, ...args] = await kafkaTool('kafka.admin.ConfigCommand');
  const change = ['--alter', '--add-config', `SCRAM-SHA-512=[password=${password}]`];
  const user = ['--entity-type', 'users', '--entity-name', USER];
  await run(program, [...args, '--bootstrap-server', brokers, ...change, ...user]);
}

const run = promisify(execFile);

const MODULES = 'org.apache.kafka.common.security';
const SCRAM_LOGIN = `${MODULES}.scram.ScramLoginModule required;`;
export const PLAIN_LOGIN = {
  'sasl.enabled.mechanisms': 'PLAIN',
  'plain.sasl.jaas.config': `${MODULES}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
};
const ALLOWED_URLS = 'org.apache.kafka.sasl.oauthbearer.allowed.urls';

function tokenLogin({ jwksUrl }: TokenServer): Record<string, string> {
  return {
    'sasl.enabled.mechanisms': 'OAUTHBEARER',
    'oauthbearer.sasl.jaas.config': `${MODULES}.oauthbearer.OAuthBearerLoginModule required;`,
    'oauthbearer.sasl.server.callback.handler.class': `${MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
    'sasl.oauthbearer.jwks.endpoint.url': jwksUrl,
    'sasl.oauthbearer.clock.skew.seconds': '0',
    // the default of Kafka 4.1.1 does not check signatures
    'sasl.oauthbearer.jwt.validator.class': `${MODULES}.oauthbearer.BrokerJwtValidator`,
  };
}

const LOGINS = {
  ...PLAIN_LOGIN,
  'sasl.enabled.mechanisms': ['PLAIN', ...SCRAM].join(),
  'scram-sha-256.sasl.jaas.config': SCRAM_LOGIN,
  'scram-sha-512.sasl.jaas.config': SCRAM_LOGIN,
};
