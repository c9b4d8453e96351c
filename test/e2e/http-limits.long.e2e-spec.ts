import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { AppProcess } from '../support/app-process.js';

const HTTP_PORT = {
  bridge: 'BRIDGE_HTTP_PORT',
  ingest: 'INGEST_HTTP_PORT',
  sandbox: 'SANDBOX_HTTP_PORT',
  terminal: 'TERMINAL_HTTP_PORT',
};
const HEALTH = 'GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n';
/** More than ten seconds for a busy machine, and less than Node's own minute. */
const CLOSES_WITHIN_MS = 45_000;
const AT_ONCE = 50;

/** The limits in docs/security.md and docs/sandbox.md. */
describe.each([
  { app: 'bridge', connections: 256, bodyBytes: 16_384, path: '/health/live' },
  { app: 'ingest', connections: 2000, bodyBytes: 1_048_576, path: '/lists' },
  { app: 'sandbox', connections: 2000, bodyBytes: 1_048_576, path: '/sandbox/faults' },
  { app: 'terminal', connections: 2000, bodyBytes: 65_536, path: '/api/reasons' },
] as const)('the HTTP server of $app', ({ app, connections, bodyBytes, path }) => {
  let running: AppProcess;
  let url: URL;
  const open = new Set<Socket>();

  beforeAll(async () => {
    running = new AppProcess(app, {
      ...{ KAFKA_BROKERS: '127.0.0.1:1', [HTTP_PORT[app]]: '0' },
      ...{
        MACHINE_CLOUD_BASE_URL: 'http://127.0.0.1:1',
        MACHINE_CLOUD_TOKEN: 'token-of-no-service',
      },
    });
    const said = /(?:"url":"|ready on )(http:[^"\s]+)/;
    url = new URL(await running.untilOutputMatches(said, 'it says where it listens'));
  });

  afterEach(async () => {
    for (const socket of open) socket.destroy();
    open.clear();
    // The server notices the ends later: at its limit it would reset the connections of the next test.
    const some = Array.from({ length: 10 });
    while ((await Promise.all(some.map(askHealth))).includes(undefined));
  });

  afterAll(() => running.close());

  const connected = async (): Promise<Socket> => {
    const socket = connect(Number(url.port), url.hostname).on('error', () => undefined);
    open.add(socket);
    await once(socket, 'connect');
    return socket;
  };

  const untilClosed = (socket: Socket): Promise<unknown> => {
    const inTime = { signal: AbortSignal.timeout(CLOSES_WITHIN_MS) };
    if (socket.closed) return Promise.resolve();
    return once(socket.resume(), 'close', inTime).catch((error: unknown) => {
      // a reset closes it too
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    });
  };

  /** The status on a new connection, which then stays open; undefined if it is closed without an answer. */
  const askHealth = async (): Promise<string | undefined> => {
    const socket = await connected();
    socket.write(HEALTH);
    const answered = once(socket, 'data').then(
      ([data]) => String(data).split(' ')[1],
      () => undefined,
    );
    return Promise.race([answered, untilClosed(socket).then(() => undefined)]);
  };

  it(`accepts ${connections} connections, and closes any other`, async () => {
    for (let count = 0; count < connections; count += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, connections - count) }, askHealth);
      expect(new Set(await Promise.all(batch))).toEqual(new Set(['200']));
    }
    expect(await askHealth()).toBeUndefined();
    const [first] = open;
    first?.destroy();
    let status: string | undefined;
    while (status === undefined) status = await askHealth();
    expect(status).toBe('200');
  });

  it(`accepts bodies of ${bodyBytes} bytes`, async () => {
    const post = async (bytes: number): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'x-machine-terminal': '1' };
      const body = JSON.stringify('x'.repeat(bytes - 2));
      return (await fetch(new URL(path, url), { method: 'POST', headers, body })).status;
    };
    expect(await post(bodyBytes)).not.toBe(413);
    expect(await post(bodyBytes + 1)).toBe(413);
  });

  it('closes connections of slow clients, and logs no bug', async () => {
    const begun = app === 'bridge' ? '/api/flows/work-orders/pause' : path;
    const post =
      `POST ${begun} HTTP/1.1\r\nhost: localhost\r\nx-machine-terminal: 1\r\n` +
      'content-type: application/json\r\ncontent-length: 100\r\n\r\n{';
    const beginnings = { nothing: '', 'half a head': HEALTH.slice(0, 40), 'half a body': post };
    const ends = Object.entries(beginnings).map(async ([what, beginning]) => {
      const socket = await connected();
      socket.write(beginning);
      const end = untilClosed(socket).then(
        () => 'closed',
        () => 'open',
      );
      return [what, await end];
    });
    const closed = Object.keys(beginnings).map((what) => [what, 'closed']);
    expect(await Promise.all(ends)).toEqual(closed);
    const gone = await connected();
    gone.write(post);
    gone.resetAndDestroy();
    expect(await askHealth()).toBe('200');
    expect(running.output).not.toContain('aborted');
  });
});
