import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { errors } from 'undici';
import { isProxied, openTunnel } from './connections.js';

describe('a host', () => {
  const at = (hostname: string, port = 443) => ({ hostname, port });

  it('is reached through the proxy unless it is an exception', () => {
    expect(isProxied(at('cloud.example.com'), [])).toBe(true);
    expect(isProxied(at('cloud.example.com'), ['other.example.com', '10.0.0.0/8'])).toBe(true);
  });

  it.each(['localhost', 'cloud.localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])(
    'is never reached through it on loopback: %s',
    (hostname) => {
      expect(isProxied(at(hostname), [])).toBe(false);
    },
  );

  it.each([
    ['cloud.example.com', 'cloud.example.com'],
    ['Cloud.Example.com.', 'cloud.example.COM'],
    ['cloud.example.com', 'example.com'],
    ['cloud.example.com', '.example.com'],
    ['cloud.example.com', '*.example.com'],
    ['cloud.example.com', '*'],
    ['cloud.example.com', 'cloud.example.com:443'],
    ['10.1.2.3', '10.1.2.3'],
    ['10.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '10.0.0.0/8:443'],
    ['[fd00::1]', 'fd00::1'],
    ['fd00::1', '[fd00::1]:443'],
    ['fd00::1', 'fd00::/8'],
  ])('is excepted: %s by %s', (hostname, entry) => {
    expect(isProxied(at(hostname), ['elsewhere', entry])).toBe(false);
  });

  it.each([
    ['notexample.com', 'example.com'],
    ['example.com', 'cloud.example.com'],
    ['cloud.example.com', 'cloud.example.com:8443'],
    ['cloud.example.com', '10.0.0.0/8'],
    ['cloud.example.com', '.'],
    ['11.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '10.0.0.0/99'],
    ['10.1.2.3', '3'],
    ['10.1.2.3', '1.2.3'],
    ['fd00::1', '10.0.0.0/8'],
    ['fd00::1', 'fe00::/8'],
    ['fd00::1', '[fd00::1]:8443'],
  ])('is not excepted: %s by %s', (hostname, entry) => {
    expect(isProxied(at(hostname), [entry])).toBe(true);
  });
});

describe('a tunnel', () => {
  const authorization = 'Basic cGxhbnQ6aHVudGVyMg==';
  let proxy: Server;
  let origin: string;
  let asked: { target: string | undefined; headers: IncomingHttpHeaders }[];
  let sockets: Socket[];
  /** Answer of the proxy; an opened tunnel leads to an echo. */
  let answer: string | undefined;

  beforeEach(async () => {
    asked = [];
    sockets = [];
    answer = 'HTTP/1.1 200 Connection established\r\n\r\n';
    proxy = createServer().on('connect', ({ url, headers }, socket: Socket) => {
      asked.push({ target: url, headers });
      sockets.push(socket.on('error', () => undefined).on('end', () => socket.end()));
      if (answer === undefined) return;
      socket.write(answer);
      socket.pipe(socket);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });

  const open = (hostname = 'cloud.test', timeoutMs = 60_000): Promise<Socket> =>
    openTunnel({ origin, authorization, noProxy: [] }, { hostname, port: 443 }, timeoutMs);

  const failure = async (tunnel: Promise<Socket>): Promise<Error> => {
    const error = await tunnel.then(
      () => new Error('there is a tunnel'),
      (reason: unknown) => reason as Error,
    );
    expect(`${error.message} ${error.stack}`).not.toContain(authorization);
    expect(error.message).toContain(origin);
    return error;
  };

  it('is requested with the login, and carries bytes both ways', async () => {
    const tunnel = await open();
    tunnel.write('to the service and back');
    const [bytes] = (await once(tunnel, 'data')) as [Buffer];
    expect(bytes.toString()).toBe('to the service and back');
    expect(asked).toMatchObject([
      { target: 'cloud.test:443', headers: { 'proxy-authorization': authorization } },
    ]);
    tunnel.destroy();
  });

  it('leads to an IPv6 address in brackets', async () => {
    (await open('fd00::1')).destroy();
    expect(asked).toMatchObject([{ target: '[fd00::1]:443', headers: { host: '[fd00::1]:443' } }]);
  });

  it.each([
    [
      '407 Proxy Authentication Required',
      /does not accept the login in https_proxy or HTTPS_PROXY.*\(407\)$/,
    ],
    ['502 Bad Gateway', /has opened no tunnel to cloud.test:443: it answered 502$/],
    ['302 Found', /it answered 302$/],
  ])('is none after %s, and its connection is closed', async (status, message) => {
    answer = `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`;
    const { message: said } = await failure(open());
    expect(said).toMatch(message);
    const [socket] = sockets;
    if (socket?.closed === false) await once(socket.resume(), 'close');
  });

  it('fails when the proxy does not answer in time', async () => {
    answer = undefined;
    const error = await failure(open('cloud.test', 50));
    expect(error).toBeInstanceOf(errors.ConnectTimeoutError);
    expect(error.message).toContain('in 50 ms');
    const [socket] = sockets;
    if (socket?.closed === false) await once(socket.resume(), 'close');
  });

  it('fails with a reason if no proxy listens, without a code that makes undici try again at once', async () => {
    proxy.close();
    await once(proxy, 'close');
    const error = await failure(open());
    expect(error.message).toMatch(/^no tunnel through the proxy .*ECONNREFUSED/);
    expect(error).not.toHaveProperty('code');
  });
});
