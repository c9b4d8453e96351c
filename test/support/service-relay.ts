import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A relay in front of a service that can hold its answers back: calls are carried out, and stay under way. */
export class ServiceRelay {
  /** The address of the service, to be set before the first call. */
  serviceUrl = '';
  private readonly sockets = new Set<Socket>();
  /** While answers are held back. */
  private released: Promise<void> | undefined;
  private handOn = (): void => undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {
    server.on('connection', (caller: Socket) => this.join(caller));
  }

  static async start(): Promise<ServiceRelay> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return new ServiceRelay(server, `http://127.0.0.1:${port}`);
  }

  /** Holds back all answers until {@link release}. */
  holdAnswers(): void {
    this.released = new Promise((resolve) => (this.handOn = resolve));
  }

  /** Hands on the answers held back, and all later ones. */
  release(): void {
    this.handOn();
    this.released = undefined;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(caller: Socket): void {
    const { hostname, port } = new URL(this.serviceUrl);
    const service = connect(Number(port), hostname);
    for (const [from, to] of [[caller, service] as const, [service, caller] as const]) {
      this.sockets.add(from);
      // Not before the bytes that it has sent.
      const end = (): void => void Promise.resolve(this.released).then(() => to.destroy());
      from.on('error', () => undefined).on('close', end);
    }
    caller.pipe(service);
    service.on('data', (bytes) => {
      void Promise.resolve(this.released).then(() => caller.write(bytes));
    });
  }
}
