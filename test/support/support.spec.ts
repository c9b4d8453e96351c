import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { eventually } from './eventually.js';
import { rememberSecrets, secretIn } from './secrets.js';
import { watchServedHttp } from './served-http.mjs';
import { PartitionLog, type RawMessage } from './committed-reader.js';
import { isSigned } from './callback-receiver.js';

describe('a wait', () => {
  const standStill = (ms: number): unknown =>
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  it('says what it waited for, and the last failure', async () => {
    const wait = eventually('the impossible', () => false, 20);
    await expect(wait).rejects.toThrow(
      /^the impossible did not come true within 20 ms.*; last: false$/,
    );
  });

  it('does not count the time in which the process stood still', async () => {
    let checks = 0;
    const wait = eventually(() => (checks += 1) > 1 || !standStill(1200), 1000);
    await expect(wait).resolves.toBe(true);
  });
});

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

const ABORT = Buffer.from([0, 0, 0, 0]);
const COMMIT = Buffer.from([0, 0, 0, 1]);
const of = (offset: number, producerId: string, key: Buffer | null): RawMessage => ({
  offset: String(offset),
  timestamp: '0',
  key,
  value: null,
  batchContext: { producerId, inTransaction: producerId !== '' },
});
const record = (offset: number, producerId = ''): RawMessage => of(offset, producerId, null);
const marker = (offset: number, producerId: string, key: Buffer): RawMessage => {
  return { ...of(offset, producerId, key), isControlRecord: true };
};
const offsetsOf = (messages: readonly RawMessage[]): number[] =>
  messages.map(({ offset }) => Number(offset));

describe('the log of a partition', () => {
  let log: PartitionLog;

  beforeEach(() => {
    log = new PartitionLog();
  });

  it('has no records of overlapping aborted transactions', () => {
    const fetched = [
      ...[record(0, 'a'), record(1, 'b'), marker(2, 'a', ABORT), record(3, 'b'), record(4, 'a')],
      ...[marker(5, 'b', ABORT), marker(6, 'a', COMMIT), record(7)],
    ];
    expect(offsetsOf(log.decide(fetched))).toEqual([4, 7]);
    expect(log.position).toBe(8);
  });

  it('keeps its order while a record waits for its marker', () => {
    expect(log.decide([record(0, 'a'), record(1)])).toEqual([]);
    expect(log.position).toBe(0);
    expect(offsetsOf(log.decide([marker(2, 'a', COMMIT)]))).toEqual([0, 1]);
  });

  it('hands on once a record that is fetched again', () => {
    log.decide([record(0), record(1, 'a')]);
    expect(offsetsOf(log.decide([record(0), record(1, 'a'), marker(2, 'a', COMMIT)]))).toEqual([1]);
  });

  it('must be fetched again from a record whose marker was not shown', () => {
    log.decide([record(0), record(1, 'a')]);
    expect(log.skipTo(3)).toBe(false);
    expect(log.position).toBe(1);
    expect(offsetsOf(log.decide([record(1, 'a'), marker(2, 'a', COMMIT)]))).toEqual([1]);
  });

  it('goes on after offsets that readers do not see', () => {
    log.decide([record(0)]);
    expect(log.skipTo(4)).toBe(true);
    expect(log.position).toBe(4);
  });
});

/** The key with which the libraries of Standard Webhooks test their signatures. */
const KEY = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
const CALL = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  headers: {
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  body: '{"test": 2432232314}',
  isAnswered: true,
};

describe('the signature of a callback', () => {
  it('is verified as Standard Webhooks specifies', () => {
    expect(isSigned(CALL, KEY)).toBe(true);
  });

  it.each([
    ['another body', { ...CALL, body: '{"test": 2432232315}' }],
    ['another id', { ...CALL, id: 'msg_p5jXN8AQM9LWM0D4loKWxJel' }],
    ['another time', { ...CALL, headers: { ...CALL.headers, 'webhook-timestamp': '1614265331' } }],
  ])('is not that of %s', (_what, call) => {
    expect(isSigned(call, KEY)).toBe(false);
  });
});
