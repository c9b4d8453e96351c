import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { realDelayMs } from '#libs/clock';

const SIZE_BYTES = 4;

/**
 * A relay in front of a broker that can hold requests back: their senders get no answer, and everything else goes on.
 * Answers that name the broker name the relay instead, so that no client bypasses it.
 */
export class KafkaRelay {
  private isHeldBack: (request: Buffer) => boolean = () => false;
  private readonly held: (() => void)[] = [];
  private delayMs = 0;
  private isCut = false;
  private isAnswerLost = false;
  private readonly sockets = new Set<Socket>();
  private connectionCount = 0;
  /** The relays of all brokers whose addresses answers name. */
  private relays: readonly KafkaRelay[] = [this];

  private constructor(
    private readonly server: Server,
    private readonly host: string,
    private readonly port: number,
  ) {
    server.on('connection', (client: Socket) => this.join(client));
  }

  /** @param broker `host:port`, as the broker names itself */
  static async to(broker: string): Promise<KafkaRelay> {
    const [host = '', port] = broker.split(':');
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    return new KafkaRelay(server, host, Number(port));
  }

  /** One relay for each broker of a cluster: an answer that names any of them names its relay instead. */
  static async toEach(brokers: readonly string[]): Promise<KafkaRelay[]> {
    const relays = await Promise.all(brokers.map((broker) => KafkaRelay.to(broker)));
    for (const relay of relays) relay.relays = relays;
    return relays;
  }

  /** The address for clients, `host:port`. */
  get address(): string {
    return `${this.host}:${this.ownPort}`;
  }

  /** How many connections clients have opened. */
  get connections(): number {
    return this.connectionCount;
  }

  /** How many of them are open. */
  get openConnections(): number {
    return [...this.sockets].filter(({ destroyed }) => !destroyed).length / 2;
  }

  /** Delays each request from now on by this time, and keeps the order of requests on a connection. */
  slowDown(delayMs: number): void {
    this.delayMs = delayMs;
  }

  /** From now on, holds back requests by their content. */
  holdBack(isHeldBack: (request: Buffer) => boolean): void {
    this.isHeldBack = isHeldBack;
  }

  /** How many requests are held back. */
  get heldBack(): number {
    return this.held.length;
  }

  /** Hands on the requests held back, and all later ones. */
  release(): void {
    this.isHeldBack = () => false;
    for (const handOn of this.held.splice(0)) handOn();
  }

  /** Breaks all connections, also new ones, until {@link restore}: Kafka is away. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  /** As {@link cut}, instead of the next answer: the broker has carried out that request. */
  cutInPlaceOfAnswer(): void {
    this.isAnswerLost = true;
  }

  get isAway(): boolean {
    return this.isCut;
  }

  restore(): void {
    this.isCut = false;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private get ownPort(): number {
    return (this.server.address() as AddressInfo).port;
  }

  private join(client: Socket): void {
    this.connectionCount += 1;
    if (this.isCut) {
      client.destroy();
      return;
    }
    const broker = connect(this.port, this.host);
    for (const [from, to] of [[client, broker] as const, [broker, client] as const]) {
      this.sockets.add(from);
      // when one side is gone, close the other
      from.on('error', () => undefined).on('close', () => to.destroy());
    }
    let previous = Promise.resolve();
    onFrame(client, (request) => {
      const handOn = (): void => {
        broker.write(request);
      };
      if (this.isHeldBack(request)) this.held.push(handOn);
      else previous = Promise.all([previous, this.delay()]).then(handOn);
    });
    onFrame(broker, (answer) => {
      if (this.isAnswerLost) {
        this.isAnswerLost = false;
        this.cut();
      }
      client.write(this.withRelays(answer));
    });
  }

  private async delay(): Promise<void> {
    if (this.delayMs > 0) await realDelayMs(this.delayMs);
  }

  private withRelays(answer: Buffer): Buffer {
    for (const { host, port, ownPort } of this.relays) {
      const theirs = addressBytes(host, port);
      const ours = addressBytes(host, ownPort);
      for (let at = answer.indexOf(theirs); at >= 0; at = answer.indexOf(theirs, at)) {
        ours.copy(answer, at);
      }
    }
    return answer;
  }
}

/** A broker's address as in answers about metadata and coordinators: a string and an int32. */
function addressBytes(host: string, port: number): Buffer {
  const bytes = Buffer.alloc(2 + host.length + 4);
  bytes.writeInt16BE(host.length);
  bytes.write(host, 2);
  bytes.writeInt32BE(port, 2 + host.length);
  return bytes;
}

/** Calls back with each complete request or answer, including its size field. */
function onFrame(socket: Socket, take: (frame: Buffer) => void): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes]);
    while (pending.length >= SIZE_BYTES) {
      const end = SIZE_BYTES + pending.readInt32BE();
      if (pending.length < end) return;
      take(pending.subarray(0, end));
      pending = pending.subarray(end);
    }
  });
}
