import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { eventually } from '../support/eventually.js';
import { testBrokers, uniqueTopicPrefix } from '../support/kafka.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { RunningIngest } from '../support/running-ingest.js';

const LIST = { machineId: 'M-1', workingOrders: ['4711'] };
const MEBIBYTE = 1_048_576;
/** As docs/security.md has them. */
const MAX_BODIES = 128;
const END_TXN = 26;
const CHUNKED = 'transfer-encoding: chunked';

/** Beside what http-limits holds of every server. */
describe('what ingest takes at most', () => {
  const sockets: Socket[] = [];
  let relay: KafkaRelay;
  let ingest: RunningIngest;

  beforeAll(async () => {
    relay = await KafkaRelay.to(testBrokers()[0]!);
    const throughRelay = { KAFKA_BROKERS: relay.address };
    ingest = await (await RunningIngest.start(uniqueTopicPrefix(), throughRelay)).ready();
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(async () => (await ingest.post('/lists', LIST)).status === 202, {
      what: 'it takes requests',
    });
  });

  afterAll(async () => {
    await ingest.close();
    await relay.close();
  });

  async function open(...lines: string[]): Promise<{ socket: Socket; received: () => string }> {
    const { hostname, port } = new URL(ingest.url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    sockets.push(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    await once(socket, 'connect');
    socket.write(lines.map((line) => `${line}\r\n`).join(''));
    return { socket, received: () => text };
  }

  const statusOf = async (path: string) => (await fetch(ingest.url + path)).status;

  const head = (bytes: number, path = '/lists') => [
    ...[`POST ${path} HTTP/1.1`, 'host: 127.0.0.1', 'content-type: application/json'],
    ...[`content-length: ${bytes}`, ''],
  ];

  it('answers 503 where the bodies that are being received are too much', async () => {
    for (let body = 0; body < MAX_BODIES; body += 1) await open(...head(MEBIBYTE), 'x');
    const { received } = await open(...head(MEBIBYTE));
    await eventually(() => received().includes('\r\n\r\n'), { what: 'one too many is answered' });
    expect(received()).toMatch(/^HTTP\/1.1 503 [^]*retry-after: 1\r\n/i);
    expect(await statusOf('/metrics')).toBe(200);
  });

  it('receives no body for a path that it has not', async () => {
    const { received } = await open(...head(MEBIBYTE, '/nothing'));
    await eventually(() => received() !== '', { what: 'it is answered before the body' });
    expect(received()).toMatch(/^HTTP\/1.1 404 [^]*"code":"not-found"/);
  });

  it('has room again for bodies whose senders were gone before their answer', async () => {
    const json = JSON.stringify(LIST);
    // without a length it counts as the largest
    const chunked = head(0).map((line) => line.replace(/^content-length.*/, CHUNKED));
    const body = [json.length.toString(16), json, '0', ''];
    relay.holdBack((request) => request.readInt16BE(4) === END_TXN);
    for (let sent = 0; sent < MAX_BODIES; sent += 1) await open(...chunked, ...body);
    await eventually(
      async () => {
        const metrics = await (await fetch(`${ingest.url}/metrics`)).text();
        return metrics.includes(`machine_ingest_waiting ${MAX_BODIES}\n`);
      },
      { what: 'all of them wait for Kafka' },
    );
    for (const socket of sockets.splice(0)) socket.destroy();
    relay.release();
    // once what has been sent is written
    await eventually(async () => (await ingest.post('/lists', LIST)).status === 202, {
      what: 'it takes requests',
    });
  });

  it.each(['content-length', 'transfer-encoding'])(
    'answers who sends far too much, and does not break the connection amid it: %s',
    async (header) => {
      const bytes = 20 * MEBIBYTE;
      const chunked = head(0).map((line) => line.replace(/^content-length.*/, CHUNKED));
      const { socket, received } = await open(
        ...(header === 'content-length' ? head(bytes) : chunked),
      );
      const broken = once(socket, 'close').then(() => 'broken');
      const piece = Buffer.alloc(MEBIBYTE, 'x');
      const chunk = Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')]);
      for (let sent = 0; sent < bytes; sent += MEBIBYTE) {
        if (socket.write(header === 'content-length' ? piece : chunk)) continue;
        expect(await Promise.race([once(socket, 'drain'), broken])).not.toBe('broken');
      }
      if (header === 'transfer-encoding') socket.write('0\r\n\r\n');
      await eventually(() => received().includes('too-large'), { what: 'it is answered' });
      expect(received()).toMatch(/^HTTP\/1.1 413 /);
    },
  );

  it('refuses headers that are too large', async () => {
    const { received } = await open('GET /health/live HTTP/1.1', `x: ${'y'.repeat(20_000)}`, '');
    await eventually(() => received() !== '', { what: 'it is answered' });
    expect(received()).toMatch(/^HTTP\/1.1 431 /);
  });
});
