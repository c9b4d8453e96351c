import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync, constants } from 'node:zlib';
import { jest } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { RunningTerminal } from '../support/running-terminal.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const TOKEN = 'a-token-of-the-press-hall';
const DAY_MS = 86_400_000;
const TERMINAL_TOKENS_FILE = temporaryFile('tokens.json', { [TOKEN]: 'Press hall' });

describe('a user of the terminal', () => {
  const kafka = new TestKafka(testBrokers(), uniqueTopicPrefix());
  const terminals: RunningTerminal[] = [];

  const start = async (env = {}): Promise<RunningTerminal> => {
    const terminal = await RunningTerminal.start(kafka.topicPrefix, env);
    terminals.push(terminal);
    return terminal;
  };

  afterEach(() => Promise.all(terminals.splice(0).map((terminal) => terminal.close())));

  afterAll(() => kafka.close());

  it('needs the token of a station, and keeps its session after a restart', async () => {
    const terminal = await start({ TERMINAL_TOKENS_FILE });
    const paths = ['session', 'events', 'reasons', 'hand-over', 'machines/M-1'];
    for (const path of [...paths.map((name) => `/api/${name}`), '/metrics']) {
      expect([path, (await terminal.request('GET', path)).status]).toEqual([path, 401]);
    }
    expect((await terminal.request('GET', '/health/live')).status).toBe(200);
    expect((await terminal.request('POST', '/api/session', { token: 'no-token' })).status).toBe(
      401,
    );
    const opened = await terminal.request('POST', '/api/session', { token: TOKEN });
    expect(await opened.json()).toMatchObject({ station: 'Press hall', operator: null });
    expect(opened.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict/);
    const named = await terminal.request('PUT', '/api/session/operator', { operator: ' Zoë ' });
    expect(await named.json()).toMatchObject({ station: 'Press hall', operator: 'Zoë' });
    const [cookie = ''] = named.headers.getSetCookie()[0]?.split(';') ?? [];
    const other = await start({ TERMINAL_TOKENS_FILE });
    const session = (headers: Record<string, string>) =>
      other.request('GET', '/api/session', undefined, headers);
    expect(await (await session({ cookie })).json()).toMatchObject({ operator: 'Zoë' });
    expect((await session({ cookie: `${cookie.slice(0, -4)}AAAA` })).status).toBe(401);
    expect((await session({ authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    // as libraries do that send the content type with every request
    const asJson = { 'content-type': 'application/json' };
    expect((await terminal.request('DELETE', '/api/session', undefined, asJson)).ok).toBe(true);
    expect((await terminal.request('GET', '/api/session')).status).toBe(401);
  });

  it('has a session with a cookie of the same name before the right one', async () => {
    const terminal = await start({ TERMINAL_TOKENS_FILE });
    const opened = await terminal.request('POST', '/api/session', { token: TOKEN });
    const [right = ''] = opened.headers.getSetCookie()[0]?.split(';') ?? [];
    const [name = ''] = right.split('=');
    const session = async (cookie: string): Promise<number> =>
      (await terminal.request('GET', '/api/session', undefined, { cookie })).status;
    // browsers send one for each path and domain, the longest path first
    expect(await session(`${name}=of.another; ${name}=; ${right}`)).toBe(200);
    expect(await session(`${right}; ${name}=of.another`)).toBe(200);
    expect(await session(`${name}=of.another; ${name}`)).toBe(401);
  });

  it.each([
    ['https', true],
    ['https, http', true],
    ['HTTPS,https', true],
    ['http, https', false],
    ['http', false],
  ])(
    'gets a cookie for https alone through proxies that forward %s: %s',
    async (proto, isSecure) => {
      const terminal = await start({ TERMINAL_TOKENS_FILE });
      const headers = { 'x-forwarded-proto': proto };
      const opened = await terminal.request('POST', '/api/session', { token: TOKEN }, headers);
      expect(opened.headers.getSetCookie()[0]?.endsWith('; Secure')).toBe(isSecure);
    },
  );

  it('keeps a session while using it', async () => {
    const terminal = await start({ TERMINAL_TOKENS_FILE });
    await terminal.request('POST', '/api/session', { token: TOKEN });
    const cookies = async (
      daysLater: number,
      ...what: Parameters<typeof terminal.request>
    ): Promise<string[]> => {
      const realNow = Date.now.bind(Date);
      const later = jest
        .spyOn(Date, 'now')
        .mockImplementation(() => realNow() + daysLater * DAY_MS);
      const { status, headers } = await terminal.request(...what);
      later.mockRestore();
      expect([daysLater, status]).toEqual([daysLater, 200]);
      return headers.getSetCookie();
    };
    const renewed = [expect.stringContaining('; Max-Age=2592000')];
    expect(await cookies(0, 'GET', '/api/session')).toEqual([]);
    expect(await cookies(29, 'GET', '/api/session')).toEqual(renewed);
    const registered = await cookies(58, 'PUT', '/api/session/operator', { operator: 'Anna' });
    expect(registered).toEqual(renewed);
  });

  it('is still registered after a restart if no token is needed', async () => {
    const terminal = await start();
    const named = await terminal.request('PUT', '/api/session/operator', { operator: 'Zoë' });
    const [cookie = ''] = named.headers.getSetCookie()[0]?.split(';') ?? [];
    const again = await start();
    const session = await again.request('GET', '/api/session', undefined, { cookie });
    expect(await session.json()).toMatchObject({ station: 'local', operator: 'Zoë' });
  });

  it('has a session at each terminal of one host, whose ports share cookies', async () => {
    const file = temporaryFile('hall-2.json', { 'another-token-entirely': 'Hall 2' });
    const jar = new Map<string, string>();
    const open = async (terminal: RunningTerminal, token: string): Promise<void> => {
      const opened = await terminal.request('POST', '/api/session', { token });
      const [name = '', value = ''] = opened.headers.getSetCookie()[0]?.split(/[=;]/) ?? [];
      jar.set(name, value);
    };
    const [one, two] = [
      await start({ TERMINAL_TOKENS_FILE }),
      await start({ TERMINAL_TOKENS_FILE: file }),
    ];
    await open(one, TOKEN);
    await open(two, 'another-token-entirely');
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const stationAt = async (terminal: RunningTerminal): Promise<unknown> =>
      (await terminal.request('GET', '/api/session', undefined, { cookie })).json();
    expect(await stationAt(one)).toMatchObject({ station: 'Press hall' });
    expect(await stationAt(two)).toMatchObject({ station: 'Hall 2' });
  });

  it('is not the operator of a forged session if no token is needed', async () => {
    const terminal = await start();
    const named = await terminal.request('PUT', '/api/session/operator', { operator: 'Zoë' });
    const [name = ''] = named.headers.getSetCookie()[0]?.split('=') ?? [];
    const key = createHmac('sha256', 'machine-terminal session').update('[]').digest();
    const expiresMs = Date.now() + DAY_MS;
    const session = { station: 'local', token: '', operatorUntil: expiresMs, expiresMs };
    for (const text of [
      'null',
      '{',
      JSON.stringify({ ...session, operator: 'a\nb' }),
      '{"operator":1}',
    ]) {
      const payload = Buffer.from(text).toString('base64url');
      const signature = createHmac('sha256', key).update(payload).digest('base64url');
      const cookie = `${name}=${payload}.${signature}`;
      const answer = await terminal.request('GET', '/api/session', undefined, { cookie });
      expect([text, answer.status, await answer.json()]).toEqual([
        ...[text, 200],
        expect.objectContaining({ operator: null }),
      ]);
    }
  });

  it('loses a session with its token', async () => {
    const terminal = await start({ TERMINAL_TOKENS_FILE });
    const opened = await terminal.request('POST', '/api/session', { token: TOKEN });
    const [cookie = ''] = opened.headers.getSetCookie()[0]?.split(';') ?? [];
    const file = temporaryFile('others.json', { 'another-token-entirely': 'Press hall' });
    const other = await start({ TERMINAL_TOKENS_FILE: file });
    expect((await other.request('GET', '/api/session', undefined, { cookie })).status).toBe(401);
  });

  it('may try a limited number of wrong tokens, and right ones always work', async () => {
    const terminal = await start({ TERMINAL_TOKENS_FILE });
    const opened = await terminal.request('POST', '/api/session', { token: TOKEN });
    const [cookie = ''] = opened.headers.getSetCookie()[0]?.split(';') ?? [];
    const bearer = (token: string): Promise<Response> =>
      terminal.request('GET', '/api/session', undefined, { authorization: `Bearer ${token}` });
    const signIn = (token: string): Promise<Response> =>
      terminal.request('POST', '/api/session', { token });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      for (const answer of [await bearer(`guess-${attempt}`), await signIn(`guess-${attempt}`)]) {
        const { code } = (await answer.json()) as { code: string };
        expect([answer.status, code]).toEqual([401, 'wrong-token']);
      }
    }
    for (const limited of [await bearer('guess'), await signIn('guess')]) {
      expect(limited.status).toBe(429);
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await limited.json()).toMatchObject({ code: 'too-many' });
    }
    expect((await bearer(TOKEN)).status).toBe(200);
    expect((await signIn(TOKEN)).status).toBe(200);
    const session = await fetch(`${terminal.url}/api/session`, { headers: { cookie } });
    expect(session.status).toBe(200);
    const metrics = await (await terminal.request('GET', '/metrics')).text();
    expect(metrics).toContain('machine_terminal_wrong_tokens_total 12');
  });

  it.each([
    ['the address that a trusted proxy forwards', '127.0.0.0/8,::1', 401],
    ['the address of an untrusted proxy', '10.0.0.0/8', 429],
    ['the address of the proxy if none is trusted', '', 429],
  ])('has wrong tokens counted by %s', async (_, proxies, expected) => {
    const terminal = await start({ TERMINAL_TOKENS_FILE, TERMINAL_TRUSTED_PROXIES: proxies });
    const tryFrom = async (address: string): Promise<number> => {
      const headers = { 'x-forwarded-for': `198.51.100.9, ${address}` };
      return (await terminal.request('POST', '/api/session', { token: 'guess' }, headers)).status;
    };
    for (let attempt = 0; attempt < 10; attempt += 1) await tryFrom('192.0.2.1');
    expect(await tryFrom('192.0.2.1')).toBe(429);
    expect(await tryFrom('192.0.2.2')).toBe(expected);
  });

  it('is not identified by headers of an untrusted proxy', async () => {
    const settings = { TERMINAL_TRUSTED_USER_HEADER: 'x-station' };
    const asks = async (TERMINAL_TRUSTED_PROXIES: string): Promise<number> => {
      const terminal = await start({ ...settings, TERMINAL_TRUSTED_PROXIES });
      const headers = { 'x-station': 'Hall 2' };
      return (await terminal.request('GET', '/api/session', undefined, headers)).status;
    };
    expect(await asks('10.0.0.0/8')).toBe(401);
    expect(await asks('127.0.0.1')).toBe(200);
  });

  it('is identified by the headers of a proxy', async () => {
    const terminal = await start({ TERMINAL_TRUSTED_USER_HEADER: 'x-station,x-operator' });
    expect((await terminal.request('GET', '/api/session')).status).toBe(401);
    const operator = Buffer.from('Jürgen').toString('latin1');
    const headers = { 'x-station': 'Hall 2', 'x-operator': operator };
    const session = await terminal.request('GET', '/api/session', undefined, headers);
    expect(await session.json()).toMatchObject({ station: 'Hall 2', operator: 'Jürgen' });
    const body = { operator: 'Somebody else' };
    const named = await terminal.request('PUT', '/api/session/operator', body, headers);
    expect(named.status).toBe(409);
  });

  it('has no access through another site', async () => {
    const terminal = await start();
    const put = (headers: Record<string, string>) =>
      terminal.request('PUT', '/api/session/operator', { operator: 'Anna' }, headers);
    expect((await put({})).status).toBe(200);
    expect((await put({ origin: terminal.url })).status).toBe(200);
    expect((await put({ origin: 'https://evil.example' })).status).toBe(403);
    expect((await put({ origin: 'null' })).status).toBe(403);
    expect((await put({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await put({ 'content-type': 'text/plain' })).status).toBe(415);
    const bare = await fetch(`${terminal.url}/api/session/operator`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{"operator":"Anna"}',
    });
    expect(bare.status).toBe(403);
    expect(await bare.json()).toMatchObject({ code: 'own-header-missing' });
    // a name of the other site that resolves to loopback
    const session = `${terminal.url}/api/session`;
    expect(await statusFor(session, { host: 'evil.example:3200' })).toBe(403);
    expect(await statusFor(session, { host: 'localhost:3200' })).toBe(200);
    // a proxy may add the port that browsers omit
    const signOut = (origin: string, host: string): Promise<number | undefined> =>
      statusFor(session, { host, origin, 'x-machine-terminal': '1' }, 'DELETE');
    expect(await signOut('http://localhost', 'localhost:80')).toBe(204);
    expect(await signOut('https://localhost', 'localhost:443')).toBe(204);
    expect(await signOut('http://localhost', 'localhost:443')).toBe(403);
  });

  it('gets answers that browsers neither share with other sites nor run foreign scripts in', async () => {
    const terminal = await (await start()).ready();
    const { headers } = await terminal.request('GET', '/api/session');
    expect(headers.get('content-security-policy')).toMatch(/default-src 'self'/);
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    const missing = await terminal.request('GET', '/api/machines/M-9');
    expect([missing.status, await missing.json()]).toEqual([
      404,
      { code: 'unknown-machine', message: 'there is no machine M-9' },
    ]);
    expect((await terminal.request('GET', '/../package.json')).status).toBe(404);
    expect((await terminal.request('GET', '/metrics')).status).toBe(200);
  });

  it('gets only headers for a HEAD request of the events', async () => {
    const terminal = await start();
    const method = 'HEAD';
    const signal = AbortSignal.timeout(60_000);
    const answer = await fetch(`${terminal.url}/api/events`, { method, signal });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch('text/event-stream');
    expect(await (await terminal.request('GET', '/metrics')).text()).toMatch(
      /^machine_terminal_pages 0$/m,
    );
  });

  it('is forgotten after leaving, even after two requests for events on one connection', async () => {
    const terminal = await start();
    const { host, hostname, port } = new URL(terminal.url);
    const pages = async (count: number): Promise<boolean> => {
      const metrics = await (await terminal.request('GET', '/metrics')).text();
      return metrics.includes(`\nmachine_terminal_pages ${count}\n`);
    };
    const socket = connect(Number(port), hostname);
    socket.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(2));
    await once(socket, 'data');
    await eventually('two streams', () => pages(2));
    socket.destroy();
    await eventually('none is left', () => pages(0));
  });

  it('gets the page in an accepted encoding, with a vary header for caches', async () => {
    const terminal = await start();
    const encodingFor = async (accepted: string): Promise<unknown> => {
      const { headers } = await terminal.request('GET', '/', undefined, {
        'accept-encoding': accepted,
      });
      return [headers.get('content-encoding'), headers.get('vary')];
    };
    const vary = 'accept-encoding';
    expect(await encodingFor('gzip, deflate, br, zstd')).toEqual(['br', vary]);
    expect(await encodingFor('gzip;q=1.0, br;q=0')).toEqual(['gzip', vary]);
    expect(await encodingFor('GZIP')).toEqual(['gzip', vary]);
    expect(await encodingFor('identity, gzip;q=0.0')).toEqual([null, vary]);
  });

  it('gets events in one compressed stream if it accepts that', async () => {
    const terminal = await (await start()).ready();
    const bytes: Buffer[] = [];
    const request = httpRequest(`${terminal.url}/api/events`, {
      headers: { 'accept-encoding': 'gzip, br' },
    });
    request.on('error', () => undefined).end();
    const encoding = new Promise((resolve) => {
      request.on('response', (response) => {
        resolve(response.headers['content-encoding']);
        response.on('data', (chunk: Buffer) => bytes.push(chunk)).on('error', () => undefined);
      });
    });
    expect(await encoding).toBe('gzip');
    const text = await eventually('the link is up, with a heartbeat behind it', () => {
      const unfinished = { finishFlush: constants.Z_SYNC_FLUSH };
      const read = bytes.length > 0 && gunzipSync(Buffer.concat(bytes), unfinished).toString();
      return read !== false && /"state":"up"[^]*\n: heartbeat\n\n/.test(read) && read;
    });
    request.destroy();
    expect(text).toMatch(/^id: \w+-\d+\nevent: snapshot\ndata: \{"kafka":/);
  });
});

/** Requests with a Host header that fetch would not send. */
function statusFor(
  url: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { headers, method }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}
