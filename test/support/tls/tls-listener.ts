import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Identity } from './authority.js';

/** Listens on a free port of localhost with a certificate. */
export class TlsListener {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(
    { certificate, key }: Identity,
    onConnection: (caller: Socket) => void,
  ): Promise<TlsListener> {
    const server = createServer({ cert: certificate, key }).listen(0, 'localhost');
    const listener = new TlsListener(server);
    server.on('secureConnection', (caller: Socket) => {
      listener.sockets.add(caller);
      caller.on('error', () => caller.destroy());
      onConnection(caller);
    });
    await once(server, 'listening');
    return listener;
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** Also ends every connection. */
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
