import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { type Identity } from './authority.js';

/** How callers end their connections: `end` in good order, else the code of the error. */
export type ConnectionEnd = string;

/** What takes TLS off in front of a service, as a cloud's load balancer does. */
export class ServiceGateway {
  readonly ends: ConnectionEnd[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly service: URL,
  ) {
    server.on('secureConnection', (caller: Socket) => {
      this.join(caller);
    });
  }

  static async before(serviceUrl: string, { certificate, key }: Identity): Promise<ServiceGateway> {
    const server = createServer({ cert: certificate, key }).listen(0, 'localhost');
    await once(server, 'listening');
    return new ServiceGateway(server, new URL(serviceUrl));
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(caller: Socket): void {
    const { hostname, port } = this.service;
    const service = connect(Number(port), hostname);
    for (const socket of [caller, service]) this.sockets.add(socket);
    caller.once('end', () => this.ends.push('end'));
    caller.once('error', ({ code }: NodeJS.ErrnoException) => this.ends.push(String(code)));
    service.on('error', () => caller.destroy());
    caller.once('close', () => service.destroy());
    service.once('close', () => caller.destroy());
    caller.pipe(service).pipe(caller);
  }
}
