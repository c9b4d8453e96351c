import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rememberSecrets, secretIn } from './secrets.js';
import { watchServedHttp } from './served-http.mjs';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

describe('the secrets of settings', () => {
  it.each([
    ['MACHINE_CLOUD_TOKEN', 'token-in-a-setting', 'token-in-a-setting'],
    ['KAFKA_SASL_PASSWORD_FILE', temporaryFile('a', 'password-in-a-file\n'), 'password-in-a-file'],
    [
      'INGEST_TLS_KEY_FILE',
      temporaryFile('b', '-----BEGIN KEY-----\nMIIEvQIBADAN\n'),
      'MIIEvQIBADAN',
    ],
    ['TERMINAL_TOKENS_FILE', temporaryFile('c', '{"token-of-a-hall": "Hall"}'), 'token-of-a-hall'],
    [
      'INGEST_SENDERS_FILE',
      temporaryFile('d', '{"senders": {"erp": {"hmacSecret": "whsec_of-the-erp"}}}'),
      'whsec_of-the-erp',
    ],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'team=mes,api-key=key%20of%20telemetry', 'key of telemetry'],
    ['HTTPS_PROXY', 'http://plant:login-of-proxy@proxy:3128', 'login-of-proxy'],
    ['https_proxy', 'http://plant:lower-of-proxy@proxy:3128', 'cGxhbnQ6bG93ZXItb2YtcHJveHk='],
  ])('are found in what is written: %s', (name, value, secret) => {
    expect(secretIn(`before ${secret} after`)).toBeUndefined();
    rememberSecrets({ [name]: value });
    expect(secretIn(`before ${secret} after`)).toBe(name);
  });

  it('are none in parts of words, in names, or in addresses without a login', () => {
    const setting = { STATION_TOKEN: 'short', MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com' };
    rememberSecrets(setting);
    expect(secretIn('short https://cloud.example.com Hall erp')).toBeUndefined();
  });
});

describe('what a server of this process writes', () => {
  it('is seen completely: heads, bodies, and later parts', async () => {
    const server = createServer((_, response) => {
      response.setHeader('x-first', 'in the head').write('Zoë, ');
      response.write(Buffer.from('in bytes, '));
      response.end('at the end');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let seen = '';
    const stop = watchServedHttp((text) => (seen += text));
    await (await fetch(url)).text();
    stop();
    server.close();
    server.closeAllConnections();
    for (const part of ['in the head', 'in bytes', 'at the end']) expect(seen).toContain(part);
    expect(Buffer.from(seen, 'latin1').toString()).toContain('Zoë');
  });
});
