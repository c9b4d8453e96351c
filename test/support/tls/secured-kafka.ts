import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LocalKafka, startLocalKafka } from '../../../tools/kafka/local-kafka.mjs';
import { Authority, type Identity } from './authority.js';

export const USER = 'plant-bridge';
export const PASSWORD = 'hunter2-of-the-plant';
const SCRAM = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

/** A broker that lets in who logs in over TLS, and who shows a certificate. */
export interface SecuredKafka {
  broker: LocalKafka;
  /** Of the broker's certificates and of the clients'. */
  authority: Authority;
  /** The broker's addresses for clients, by what it asks for or shows there. */
  addresses: {
    /** SASL_SSL; its certificate is for `localhost` and no address. */
    login: string;
    /** SSL, for clients with a certificate; the broker's own is for 127.0.0.1 and no name. */
    mutual: string;
    /** SSL; its certificate has ended. */
    expired: string;
    /** SASL_PLAINTEXT, for logins by PLAIN alone. */
    unencrypted: string;
  };
  /** Has the broker show another certificate to those who log in, from its next start on. */
  present: (identity: Identity) => Promise<unknown>;
  /** Writes a file beside the broker's data, and returns its path. */
  write: (name: string, content: string) => Promise<string>;
}

export async function startSecuredKafka(dir: string): Promise<SecuredKafka> {
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
  const broker = await startLocalKafka({
    dir,
    listeners: [
      { name: 'LOGIN', protocol: 'SASL_SSL', host: 'localhost', security: security.login },
      { name: 'MUTUAL', protocol: 'SSL', security: security.mutual },
      { name: 'EXPIRED', protocol: 'SSL', security: security.expired },
      { name: 'UNENCRYPTED', protocol: 'SASL_PLAINTEXT', security: PLAIN_LOGIN },
    ],
    scramUsers: SCRAM.map((mechanism) => ({ mechanism, name: USER, password: PASSWORD })),
  });
  const addresses = {
    login: `localhost:${broker.ports['LOGIN']}`,
    mutual: `127.0.0.1:${broker.ports['MUTUAL']}`,
    expired: `127.0.0.1:${broker.ports['EXPIRED']}`,
    unencrypted: `127.0.0.1:${broker.ports['UNENCRYPTED']}`,
  };
  return { broker, authority, addresses, present: (identity) => shows('login', identity), write };
}

const MODULES = 'org.apache.kafka.common.security';
const SCRAM_LOGIN = `${MODULES}.scram.ScramLoginModule required;`;
const PLAIN_LOGIN = {
  'sasl.enabled.mechanisms': 'PLAIN',
  'plain.sasl.jaas.config': `${MODULES}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
};
const LOGINS = {
  ...PLAIN_LOGIN,
  'sasl.enabled.mechanisms': ['PLAIN', ...SCRAM].join(),
  'scram-sha-256.sasl.jaas.config': SCRAM_LOGIN,
  'scram-sha-512.sasl.jaas.config': SCRAM_LOGIN,
};
