import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { eventually } from '../support/eventually.js';
import { uniqueTopicPrefix } from '../support/kafka.js';
import { RunningIngest } from '../support/running-ingest.js';

const LIST = { machineId: 'M-1', workingOrders: ['4711'] };
const MEBIBYTE = 1_048_576;
/** As docs/security.md has them. */
const MAX_BODIES = 128;

/** Beside what http-limits holds of every server. */
describe('what ingest takes at most', () => {
  const sockets: Socket[] = [];
  let ingest: RunningIngest;

  beforeAll(async () => {
    ingest = await (await RunningIngest.start(uniqueTopicPrefix())).ready();
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(async () => (await ingest.post('/lists', LIST)).status === 202, {
      what: 'it takes requests',
    });
  });

  afterAll(() => ingest.close());

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

  const head = (bytes: number) => [
    ...['POST /lists HTTP/1.1', 'host: 127.0.0.1', 'content-type: application/json'],
    ...[`content-length: ${bytes}`, ''],
  ];

  it('answers 503 where the bodies that are being received are too much', async () => {
    for (let body = 0; body < MAX_BODIES; body += 1) await open(...head(MEBIBYTE), 'x');
    const { received } = await open(...head(MEBIBYTE));
    await eventually(() => received().includes('\r\n\r\n'), { what: 'one too many is answered' });
    expect(received()).toMatch(/^HTTP\/1.1 503 [^]*retry-after: 1\r\n/i);
    expect(await statusOf('/metrics')).toBe(200);
  });

  it('refuses headers that are too large', async () => {
    const { received } = await open('GET /health/live HTTP/1.1', `x: ${'y'.repeat(20_000)}`, '');
    await eventually(() => received() !== '', { what: 'it is answered' });
    expect(received()).toMatch(/^HTTP\/1.1 431 /);
  });
});
