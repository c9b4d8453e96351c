import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { anyFreePort } from '../../../tools/process/ports.mjs';

export const PROXY_PASSWORD = 'hunter2-of-the-proxy';
const LOGIN = `Basic ${Buffer.from(`plant:${PROXY_PASSWORD}`).toString('base64')}`;

/** An HTTP proxy that opens tunnels after a login, to hosts that only the proxy knows. */
export class ConnectProxy {
  /** While set, requests for a tunnel get this status, or no answer. */
  fault: number | 'hang' | undefined;
  /** Hosts and ports of opened tunnels. */
  readonly opened: string[] = [];
  /** The number of requests for a tunnel. */
  asked = 0;
  /** How callers ended their tunnels: `end` for an orderly end, otherwise the code of the error. */
  readonly ends: string[] = [];
  private readonly sockets = new Set<Socket>();
  private port = 0;

  private constructor(
    private readonly addresses: Readonly<Record<string, string>>,
    private server: Server,
  ) {}

  /** @param addresses URLs of services, by the host and port that callers name */
  static async start(addresses: Readonly<Record<string, string>>): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(addresses, createServer());
    await proxy.start();
    return proxy;
  }

  /** The proxy's address, with a login or without. */
  url(login = `plant:${PROXY_PASSWORD}@`): string {
    return `http://${login}127.0.0.1:${this.port}`;
  }

  /** Listens again on the same port. */
  async start(): Promise<void> {
    this.server = createServer();
    this.server.on('connect', ({ url = '', headers }, caller: Socket) => {
      this.keep(caller);
      this.asked += 1;
      const address = this.addresses[url];
      if (this.fault === 'hang') return;
      if (this.fault !== undefined) refuse(caller, this.fault);
      else if (headers['proxy-authorization'] !== LOGIN) refuse(caller, 407);
      else if (address === undefined) refuse(caller, 502);
      else this.open(url, new URL(address), caller);
    });
    // a port that nobody else gets while it is away
    this.port ||= await anyFreePort();
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  /** Also ends every tunnel. */
  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, 'close');
  }

  private open(url: string, { hostname, port }: URL, caller: Socket): void {
    const service = this.keep(connect(Number(port), hostname));
    caller.once('end', () => this.ends.push('end'));
    caller.once('error', ({ code }: NodeJS.ErrnoException) => this.ends.push(String(code)));
    service.once('connect', () => {
      this.opened.push(url);
      caller.write('HTTP/1.1 200 Connection established\r\n\r\n');
      caller.pipe(service).pipe(caller);
    });
    caller.once('close', () => service.destroy());
    service.once('close', () => caller.destroy());
  }

  private keep(socket: Socket): Socket {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    return socket.on('error', () => socket.destroy());
  }
}

function refuse(caller: Socket, status: number): void {
  caller.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
}
