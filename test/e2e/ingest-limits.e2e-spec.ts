import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { eventually } from '../support/eventually.js';
import { testBrokers, uniqueTopicPrefix } from '../support/kafka.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { RunningIngest } from '../support/running-ingest.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const LIST = { machineId: 'M-1', workingOrders: ['4711'] };
const MEBIBYTE = 1_048_576;
/** An incomplete body. */
const ALMOST = Buffer.alloc(MEBIBYTE - 1, 'x');
/** The limit in docs/security.md. */
const MAX_BODIES = 128;
const END_TXN = 26;
const TOKEN = 'the-token-of-a-hasty-sender';
const CHUNKED = 'transfer-encoding: chunked';

/** All answers except 408 to requests that took too long, as on a busy machine. */
const answersIn = (requests: readonly { received: () => string }[]): string[] =>
  requests
    .map(({ received }) => received())
    .filter((text) => text !== '' && !text.startsWith('HTTP/1.1 408 '));

/** Limits besides those of every server, which http-limits tests. */
describe('limits of ingest', () => {
  const sockets: Socket[] = [];
  let ingest: RunningIngest;

  beforeAll(async () => {
    ingest = await (await RunningIngest.start(uniqueTopicPrefix())).ready();
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(
      'it takes requests',
      async () => (await ingest.post('/lists', LIST)).status === 202,
    );
  });

  afterAll(() => ingest.close());

  const open = (...lines: string[]) => openAt(ingest.url, ...lines);

  async function openAt(
    url: string,
    ...lines: string[]
  ): Promise<{ socket: Socket; received: () => string }> {
    const { hostname, port } = new URL(url);
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

  /** Sends `count` bodies of the largest size except for their last byte. Returns a reader of the answers. */
  async function fill(count: number): Promise<() => string[]> {
    const bodies = await Promise.all(Array.from({ length: count }, () => open(...head(MEBIBYTE))));
    for (const { socket } of bodies) socket.write(ALMOST);
    return () => answersIn(bodies);
  }

  it('answers 503 to incoming bodies beyond its limit', async () => {
    const answers = await fill(MAX_BODIES + 1);
    await eventually('one too many is answered', () => answers().length > 0);
    expect(answers()).toEqual([expect.stringMatching(/^HTTP\/1.1 503 [^]*retry-after: 1\r\n/i)]);
    expect(await statusOf('/metrics')).toBe(200);
  });

  it('has room for a sender with a token while bodies with unverified signatures exceed theirs', async () => {
    const senders = {
      shop: { hmacSecret: 'the-secret-of-a-shop', paths: ['/lists'] },
      press: { token: TOKEN, paths: ['/lists'] },
    };
    const own = await RunningIngest.start(uniqueTopicPrefix(), {
      INGEST_SENDERS_FILE: temporaryFile('senders.json', { senders }),
    });
    await own.ready();
    const claiming = ['webhook-signature: v1,x', ...head(MEBIBYTE).slice(1)];
    const bodies = await Promise.all(
      Array.from({ length: MAX_BODIES + 1 }, () =>
        openAt(own.url, 'POST /lists HTTP/1.1', ...claiming),
      ),
    );
    try {
      for (const { socket } of bodies) socket.write(ALMOST);
      await eventually(
        'those too many are answered',
        () => answersIn(bodies).length > MAX_BODIES / 2,
      );
      const body = JSON.stringify(LIST).padEnd(MEBIBYTE - 1000);
      const answer = await own.post('/lists', body, { authorization: `Bearer ${TOKEN}` });
      expect(answer.status).toBe(202);
    } finally {
      for (const { socket } of bodies) socket.destroy();
      await own.close();
    }
  });

  it('limits the bodies of answered requests that Kafka accepts later', async () => {
    const relay = await KafkaRelay.to(testBrokers()[0]!);
    const sender = {
      token: TOKEN,
      paths: ['/lists'],
      answerWithinMs: 300,
      requestsPerSecond: 1000,
    };
    const hasty = await RunningIngest.start(uniqueTopicPrefix(), {
      ...{ KAFKA_BROKERS: relay.address },
      INGEST_SENDERS_FILE: temporaryFile('senders.json', { senders: { hasty: sender } }),
    });
    await hasty.ready();
    const list = JSON.stringify(LIST);
    const body = list.padEnd(MEBIBYTE - 1000);
    const post = async (sent = body): Promise<number | string> => {
      const answer = await hasty.post('/lists', sent, { authorization: `Bearer ${TOKEN}` });
      return answer.ok ? answer.status : ((await answer.json()) as { code: string }).code;
    };
    try {
      relay.holdBack((request) => request.readInt16BE(4) === END_TXN);
      const codes = [];
      for (const count of [MAX_BODIES / 2, MAX_BODIES / 2, 1]) {
        codes.push(...(await Promise.all(Array.from({ length: count }, () => post()))));
      }
      expect(codes).toEqual(Array<string>(MAX_BODIES + 1).fill('kafka-away'));
      // A busy machine may have refused some early and given up the first ones by now: many requests at
      // once arrive faster than that.
      await eventually('no more are taken', async () => {
        const more = await Promise.all(Array.from({ length: MAX_BODIES / 4 }, () => post()));
        return more.includes('busy');
      });
      relay.release();
      await eventually('it takes requests', async () => (await post(list)) === 202);
    } finally {
      relay.release();
      await hasty.close();
      await relay.close();
    }
  });

  it('receives no body for an unknown path', async () => {
    const { received } = await open(...head(MEBIBYTE, '/nothing'));
    await eventually('it is answered before the body', () => received() !== '');
    expect(received()).toMatch(/^HTTP\/1.1 404 [^]*"code":"not-found"/);
  });

  it.each(['content-length', 'transfer-encoding'])(
    'accepts requests of others while 200 senders are slow: %s',
    async (header) => {
      const chunked = head(0).map((line) => line.replace(/^content-length.*/, CHUNKED));
      const slow = header === 'content-length' ? [...head(MEBIBYTE), '{'] : [...chunked, '1', '{'];
      const requests = await Promise.all(Array.from({ length: 200 }, () => open(...slow)));
      for (let sent = 0; sent < 10; sent += 1)
        expect((await ingest.post('/lists', LIST)).status).toBe(202);
      expect(answersIn(requests)).toEqual([]);
    },
  );

  it('frees the room of bodies whose senders disconnected', async () => {
    for (let round = 0; round < 3; round += 1) {
      const bodies = await Promise.all(
        Array.from({ length: MAX_BODIES / 2 }, () => open(...head(MEBIBYTE))),
      );
      for (const { socket } of bodies) {
        if (!socket.write(ALMOST)) await once(socket, 'drain');
        socket.destroy();
      }
    }
    // exactly the limit: a single held body would exceed it
    const answers = await fill(MAX_BODIES);
    const { received } = await open(...head(2), '{}');
    await eventually('it is answered', () => received() !== '');
    expect(received()).toMatch(/^HTTP\/1.1 400 /);
    expect(answers()).toEqual([]);
  });

  it.each(['content-length', 'transfer-encoding'])(
    'answers a request that is far too large without breaking its connection: %s',
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
      await eventually('it is answered', () => received().includes('too-large'));
      expect(received()).toMatch(/^HTTP\/1.1 413 /);
    },
  );

  it('answers an undecodable address with a documented error', async () => {
    const answer = await ingest.post('/lists%E0%A4%A', LIST);
    expect(answer.status).toBe(400);
    const message = expect.stringContaining('/lists%E0%A4%A') as string;
    expect(await answer.json()).toEqual({ code: 'invalid-request', message });
  });

  it('refuses headers that are too large', async () => {
    const { received } = await open('GET /health/live HTTP/1.1', `x: ${'y'.repeat(20_000)}`, '');
    await eventually('it is answered', () => received() !== '');
    expect(received()).toMatch(/^HTTP\/1.1 431 /);
  });
});
