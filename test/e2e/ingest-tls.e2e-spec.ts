import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { eventually } from '../support/eventually.js';
import { uniqueTopicPrefix } from '../support/kafka.js';
import { RunningIngest } from '../support/running-ingest.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { Authority, type Identity } from '../support/tls/authority.js';

const SERVER = { name: 'ingest', hosts: ['127.0.0.1'] };
const LIST = JSON.stringify({ machineId: 'M-1', workingOrders: ['4711'] });

interface Answered {
  status: number | undefined;
  /** SHA-256 of the server's certificate. */
  fingerprint: string;
}

describe('an ingest over https', () => {
  const servers = new Authority('servers');
  const senders = new Authority('senders');
  const known = senders.identify({ name: 'sap' });
  const folder = temporaryFolder();
  let ingest: RunningIngest;
  /** Sets the path that the sender may use. */
  let allow: (path: string) => Promise<void>;

  const identify = async ({ certificate, key }: Identity): Promise<void> => {
    await writeFile(join(folder, 'key.pem'), key);
    await writeFile(join(folder, 'cert.pem'), certificate);
  };

  beforeAll(async () => {
    await identify(servers.identify(SERVER));
    await writeFile(join(folder, 'ca.pem'), senders.certificate);
    const { fingerprint256 } = new X509Certificate(known.certificate);
    const certificateSha256 = fingerprint256.replaceAll(':', '').toLowerCase();
    allow = async (path) => {
      const file = { senders: { sap: { certificateSha256, paths: [path] } } };
      await writeFile(join(folder, 'senders.json'), JSON.stringify(file));
    };
    await allow('/lists');
    ingest = await RunningIngest.start(uniqueTopicPrefix(), {
      INGEST_SENDERS_FILE: join(folder, 'senders.json'),
      INGEST_TLS_CERT_FILE: join(folder, 'cert.pem'),
      INGEST_TLS_KEY_FILE: join(folder, 'key.pem'),
      INGEST_TLS_CLIENT_CA_FILE: join(folder, 'ca.pem'),
    });
    await eventually('ready', async () => (await get('/health/ready')).status === 200);
  });

  afterAll(() => ingest.close());

  function send(path: string, method: string, identity?: Identity): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const asked = request(ingest.url + path, {
        ...{ method, ca: servers.certificate, agent: false },
        ...(identity !== undefined && { cert: identity.certificate, key: identity.key }),
        headers: { 'content-type': 'application/json' },
      });
      asked.on('error', reject).on('response', (answer) => {
        const { fingerprint256 } = (answer.socket as TLSSocket).getPeerCertificate();
        answer.resume().on('end', () => {
          resolve({ status: answer.statusCode, fingerprint: fingerprint256 });
        });
      });
      asked.end(method === 'POST' ? LIST : undefined);
    });
  }

  const get = (path: string): Promise<Answered> => send(path, 'GET');

  it('accepts a request with the client certificate of a sender', async () => {
    expect((await send('/lists', 'POST', known)).status).toBe(202);
    expect((await send('/reasons', 'POST', known)).status).toBe(403);
  });

  it('accepts nothing without a certificate, or with an unknown one', async () => {
    expect((await send('/lists', 'POST')).status).toBe(401);
    const stranger = senders.identify({ name: 'sap' });
    expect((await send('/lists', 'POST', stranger)).status).toBe(401);
    const forged = new Authority('senders').identify({ name: 'sap' });
    expect((await send('/lists', 'POST', forged)).status).toBe(401);
    const ended = senders.identify({ name: 'sap', days: -1 });
    expect((await send('/lists', 'POST', ended)).status).toBe(401);
  });

  it('presents its renewed certificate without a restart', async () => {
    const renewed = servers.identify(SERVER);
    const { fingerprint256 } = new X509Certificate(renewed.certificate);
    await identify(renewed);
    await eventually(
      'the renewed certificate is presented',
      async () => (await get('/health/live')).fingerprint === fingerprint256,
    );
  });

  it('closes a connection whose handshake takes more than ten seconds', async () => {
    const { hostname, port } = new URL(ingest.url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    socket.resume();
    // later on a busy machine, and sooner than Node's own two minutes
    await eventually('it is closed', () => socket.closed, 45_000);
  });

  it('keeps its certificate when the next one has expired', async () => {
    const { fingerprint } = await get('/health/live');
    await identify(servers.identify({ ...SERVER, days: -1 }));
    // the ingest checks both files together
    await allow('/reasons');
    await eventually(
      'the files have been read again',
      async () => (await send('/lists', 'POST', known)).status === 403,
    );
    expect((await get('/health/live')).fingerprint).toBe(fingerprint);
  });
});
