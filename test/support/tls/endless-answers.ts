import { once } from 'node:events';
import { type AddressInfo, type Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { type Identity } from './authority.js';

/** A service that begins every answer and ends none, of a kind that only the end of its connection would end. */
export class EndlessAnswers {
  begun = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('secureConnection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('data', () => {
        this.begun += 1;
        socket.write('HTTP/1.1 200 OK\r\n\r\n[');
      });
    });
  }

  static async start({ certificate, key }: Identity): Promise<EndlessAnswers> {
    const server = createServer({ cert: certificate, key }).listen(0, 'localhost');
    await once(server, 'listening');
    return new EndlessAnswers(server);
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
