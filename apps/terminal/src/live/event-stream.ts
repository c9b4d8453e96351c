import { randomUUID } from 'node:crypto';
import { constants, deflateRawSync } from 'node:zlib';

/** Something written to pages, as it is and compressed; each made once, for all that get it. */
export class StreamChunk {
  readonly plain: Buffer;
  private deflated: Buffer | undefined;

  constructor(text: string) {
    this.plain = Buffer.from(text);
  }

  /**
   * Blocks of a deflate stream that end at a byte and refer to nothing before them: chunks that were compressed
   * apart make one gzip stream when they are written one after the other behind its header.
   */
  get compressed(): Buffer {
    return (this.deflated ??= deflateRawSync(this.plain, {
      finishFlush: constants.Z_SYNC_FLUSH,
      level: 4,
    }));
  }
}

/** Begins a gzip stream without name and time (RFC 1952), whose end never comes. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const HEARTBEAT = new StreamChunk(': heartbeat\n\n');

/** What a page's connection is written to: a response of Node. */
interface StreamOutput {
  write: (bytes: Buffer) => unknown;
  /** Bytes that the page has not taken yet. */
  readonly writableLength: number;
  destroy: () => unknown;
}

export interface StreamClient {
  output: StreamOutput;
  isCompressed: boolean;
  /** The client gets events of this factory alone; null for all. */
  factoryId: string | null;
  /** Bytes sent when it connected, which may wait for longer than the rest. */
  firstBytes: number;
}

interface StreamEvent {
  sequence: number;
  /** null for everybody. */
  factoryId: string | null;
  chunk: StreamChunk;
}

export interface StreamLimits {
  /** Events, and their bytes, kept for pages that come back. */
  keptEvents: number;
  keptBytes: number;
  /** Bytes that may wait for a slow page before it is dropped. */
  backlogBytes: number;
}

const LIMITS: StreamLimits = {
  keptEvents: 4000,
  keptBytes: 16 * 1024 * 1024,
  backlogBytes: 1024 * 1024,
};

/**
 * The events that pages follow (SSE). Each has an id, `<epoch>-<sequence>`; the epoch is this server's. The latest are
 * kept, so that a page that comes back with the last id it has seen is sent what it has missed. A page that does not
 * take what it is sent is dropped, comes back, and goes on there.
 */
export class EventStream<C extends StreamClient = StreamClient> {
  dropped = 0;
  private readonly epoch = randomUUID().slice(0, 8);
  private readonly clients = new Set<C>();
  private readonly kept: StreamEvent[] = [];
  private keptBytes = 0;
  private sequence = 0;

  constructor(private readonly limits: StreamLimits = LIMITS) {}

  get size(): number {
    return this.clients.size;
  }

  /** The sequence of the latest event. */
  get latest(): number {
    return this.sequence;
  }

  /** @param factoryId whom it concerns; null for everybody */
  publish(type: string, factoryId: string | null, data: unknown): void {
    this.sequence += 1;
    const chunk = this.event(type, this.sequence, data);
    this.keep({ sequence: this.sequence, factoryId, chunk });
    for (const client of this.clients) {
      if (concerns(client, factoryId)) this.write(client, chunk);
    }
  }

  /** An event by itself; {@link publish} makes and sends those that are kept. */
  event(type: string, sequence: number, data: unknown): StreamChunk {
    return new StreamChunk(`${this.head(type, sequence)}${JSON.stringify(data)}\n\n`);
  }

  /** What begins an event; its data and an empty line follow. */
  head(type: string, sequence: number): string {
    return `id: ${this.epoch}-${sequence}\nevent: ${type}\ndata: `;
  }

  /** The sequence in an event's id; undefined unless all events behind it are kept. */
  sequenceOf(lastEventId: string | undefined): number | undefined {
    const [epoch, digits = ''] = lastEventId?.split('-') ?? [];
    const sequence = /^\d{1,15}$/.test(digits) ? Number(digits) : Infinity;
    return epoch === this.epoch && this.isKept(sequence) ? sequence : undefined;
  }

  /** Whether all that came after it is kept. */
  isKept(sequence: number): boolean {
    const first = this.kept[0]?.sequence ?? this.sequence + 1;
    return sequence <= this.sequence && sequence >= first - 1;
  }

  /** Pages that come back get a snapshot: something was sent that is not kept. */
  forget(): void {
    this.sequence += 1;
    this.kept.length = 0;
    this.keptBytes = 0;
  }

  /** @param chunks sent first, as of `sequence` */
  connect(client: C, chunks: readonly StreamChunk[], sequence: number): void {
    this.clients.add(client);
    if (client.isCompressed) client.output.write(GZIP_HEADER);
    const missed = this.kept.filter(
      (event) => event.sequence > sequence && concerns(client, event.factoryId),
    );
    // behind them a heartbeat, so that a page which has missed nothing knows that it is connected
    for (const chunk of [...chunks, ...missed.map((event) => event.chunk), HEARTBEAT]) {
      const bytes = bytesFor(client, chunk);
      client.firstBytes += bytes.length;
      client.output.write(bytes);
    }
  }

  disconnect(client: C): void {
    this.clients.delete(client);
  }

  /** Sends every page chunks of its own. */
  sendEach(chunksFor: (client: C) => readonly StreamChunk[]): void {
    for (const client of this.clients) {
      for (const chunk of chunksFor(client)) this.write(client, chunk);
    }
  }

  heartbeat(): void {
    for (const client of this.clients) this.write(client, HEARTBEAT);
  }

  close(): void {
    for (const { output } of this.clients) output.destroy();
    this.clients.clear();
  }

  private write(client: C, chunk: StreamChunk): void {
    const { output } = client;
    if (output.writableLength > this.limits.backlogBytes + client.firstBytes) {
      this.dropped += 1;
      this.clients.delete(client);
      output.destroy();
      return;
    }
    output.write(bytesFor(client, chunk));
  }

  private keep(event: StreamEvent): void {
    this.kept.push(event);
    this.keptBytes += event.chunk.plain.length;
    while (this.kept.length > this.limits.keptEvents || this.keptBytes > this.limits.keptBytes) {
      this.keptBytes -= this.kept.shift()?.chunk.plain.length ?? 0;
    }
  }
}

function concerns(client: StreamClient, factoryId: string | null): boolean {
  return factoryId === null || client.factoryId === null || client.factoryId === factoryId;
}

function bytesFor({ isCompressed }: StreamClient, chunk: StreamChunk): Buffer {
  return isCompressed ? chunk.compressed : chunk.plain;
}
