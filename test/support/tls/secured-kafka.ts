import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type LocalKafka,
  type SecuredListener,
  startLocalKafka,
} from '../../../tools/kafka/local-kafka.mjs';
import { Authority, type Identity } from './authority.js';

export const USER = 'plant-bridge';
export const PASSWORD = 'hunter2-of-the-plant';
const LOGIN_MODULES = 'org.apache.kafka.common.security';
const SCRAM = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

/** A broker that lets in who logs in over TLS, and who shows a certificate. */
export interface SecuredKafka {
  broker: LocalKafka;
  /** The authority of the brokers' certificates and of the clients'. */
  authority: Authority;
  /** SASL_SSL; its certificate is for `localhost` and no address. */
  login: { port: number; present: (identity: Identity) => Promise<void> };
  /** SSL, for clients with a certificate alone; its own is for 127.0.0.1 and no name. */
  mutual: { port: number };
  /** Writes a file beside the broker's data, and returns its path. */
  write: (name: string, content: string) => Promise<string>;
}

export async function startSecuredKafka(dir: string): Promise<SecuredKafka> {
  const authority = new Authority('Plant CA');
  await mkdir(dir, { recursive: true });
  const write = async (name: string, content: string): Promise<string> => {
    const path = join(dir, name);
    await writeFile(path, content);
    return path;
  };
  const present = async ({ key, certificate }: Identity): Promise<void> => {
    await write('login.pem', key + certificate);
  };
  await present(authority.identify({ name: 'broker', hosts: ['localhost'] }));
  const own = authority.identify({ name: 'broker', hosts: ['127.0.0.1'] });
  const listeners: SecuredListener[] = [
    loginListener(join(dir, 'login.pem')),
    mutualListener(
      await write('mutual.pem', own.key + own.certificate),
      await write('clients-ca.pem', authority.certificate),
    ),
  ];
  const scramUsers = SCRAM.map((mechanism) => ({ mechanism, name: USER, password: PASSWORD }));
  const broker = await startLocalKafka({ dir, listeners, scramUsers });
  const { LOGIN: login = 0, MUTUAL: mutual = 0 } = broker.ports;
  return { broker, authority, login: { port: login, present }, mutual: { port: mutual }, write };
}

function loginListener(identityFile: string): SecuredListener {
  const plain = `${LOGIN_MODULES}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`;
  const scram = `${LOGIN_MODULES}.scram.ScramLoginModule required;`;
  return {
    name: 'LOGIN',
    protocol: 'SASL_SSL',
    host: 'localhost',
    security: {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': identityFile,
      'sasl.enabled.mechanisms': ['PLAIN', ...SCRAM].join(),
      'plain.sasl.jaas.config': plain,
      'scram-sha-256.sasl.jaas.config': scram,
      'scram-sha-512.sasl.jaas.config': scram,
    },
  };
}

function mutualListener(identityFile: string, clientsCaFile: string): SecuredListener {
  return {
    name: 'MUTUAL',
    protocol: 'SSL',
    security: {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': identityFile,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': clientsCaFile,
      'ssl.client.auth': 'required',
    },
  };
}
