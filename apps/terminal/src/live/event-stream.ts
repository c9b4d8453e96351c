import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { constants, deflateRawSync } from 'node:zlib';
import type { Identity } from '../access/identity.js';

/** Text sent to pages, plain and compressed, each encoded once for all of them. */
export class StreamChunk {
  readonly plain: Buffer;
  private deflated: Buffer | undefined;

  constructor(text: string) {
    this.plain = Buffer.from(text);
  }

  /**
   * Deflate blocks that end at a byte and refer to nothing before them: chunks compressed separately form one gzip
   * stream when written one after another behind its header.
   */
  get compressed(): Buffer {
    return (this.deflated ??= deflateRawSync(this.plain, {
      finishFlush: constants.Z_SYNC_FLUSH,
      level: 4,
    }));
  }
}

/** Header of a gzip stream without name and time (RFC 1952); the stream is never ended. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const HEARTBEAT = new StreamChunk(': heartbeat\n\n');

/** A page that follows the events. */
export interface StreamClient {
  output: Pick<ServerResponse, 'write' | 'writableLength' | 'destroy'>;
  isCompressed: boolean;
  /** The client gets events of this factory alone; null for all. */
  factoryId: string | null;
  /** Bytes sent when it connected, which do not count as backlog. */
  firstBytes: number;
  /** Evaluated on each use: an operator's registration ends with the shift. */
  identity: () => Identity;
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
 * Server-sent events for pages. Each has an id, `<epoch>-<sequence>`; the epoch identifies this process. The latest
 * events are kept: a page that reconnects with the last id it has seen gets those it has missed. A page that is too
 * slow is disconnected, reconnects, and resumes there.
 */
export class EventStream {
  droppedCount = 0;
  private readonly epoch = randomUUID().slice(0, 8);
  private readonly clients = new Set<StreamClient>();
  private readonly kept: StreamEvent[] = [];
  private keptBytes = 0;
  private sequence = 0;

  constructor(private readonly limits: StreamLimits = LIMITS) {}

  get size(): number {
    return this.clients.size;
  }

  /** The sequence of the latest event. */
  get latestSequence(): number {
    return this.sequence;
  }

  /** @param factoryId the factory whose pages get it; null for all */
  publishEvent(type: string, factoryId: string | null, data: unknown): void {
    this.sequence += 1;
    const chunk = this.formatEvent(type, this.sequence, data);
    this.keep({ sequence: this.sequence, factoryId, chunk });
    for (const client of this.clients) {
      if (isFor(client, factoryId)) this.writeTo(client, chunk);
    }
  }

  /** Serialises an event; only {@link publishEvent} keeps and sends it. */
  formatEvent(type: string, sequence: number, data: unknown): StreamChunk {
    return new StreamChunk(`${this.eventHead(type, sequence)}${JSON.stringify(data)}\n\n`);
  }

  /** The beginning of an event, before its data and an empty line. */
  eventHead(type: string, sequence: number): string {
    return `id: ${this.epoch}-${sequence}\nevent: ${type}\ndata: `;
  }

  /** The sequence in an event's id; undefined unless all later events are kept. */
  sequenceOf(lastEventId: string | undefined): number | undefined {
    const [epoch, digits = ''] = lastEventId?.split('-') ?? [];
    const sequence = /^\d{1,15}$/.test(digits) ? Number(digits) : Infinity;
    return epoch === this.epoch && this.isKept(sequence) ? sequence : undefined;
  }

  /** Whether all events after `sequence` are kept. */
  isKept(sequence: number): boolean {
    const first = this.kept[0]?.sequence ?? this.sequence + 1;
    return sequence <= this.sequence && sequence >= first - 1;
  }

  /** Drops the kept events, so that pages that reconnect get a snapshot: an event was sent that is not kept. */
  dropKeptEvents(): void {
    this.sequence += 1;
    this.kept.length = 0;
    this.keptBytes = 0;
  }

  /** @param chunks sent first, as of `sequence` */
  addClient(client: StreamClient, chunks: readonly StreamChunk[], sequence: number): void {
    this.clients.add(client);
    if (client.isCompressed) client.output.write(GZIP_HEADER);
    const missed = this.kept.filter(
      (event) => event.sequence > sequence && isFor(client, event.factoryId),
    );
    // the heartbeat tells a page that has missed nothing that it is connected
    for (const chunk of [...chunks, ...missed.map((event) => event.chunk), HEARTBEAT]) {
      const bytes = bytesFor(client, chunk);
      client.firstBytes += bytes.length;
      client.output.write(bytes);
    }
  }

  removeClient(client: StreamClient): void {
    this.clients.delete(client);
  }

  sendIndividually(chunksFor: (client: StreamClient) => readonly StreamChunk[]): void {
    for (const client of this.clients) {
      for (const chunk of chunksFor(client)) this.writeTo(client, chunk);
    }
  }

  sendHeartbeats(): void {
    for (const client of this.clients) this.writeTo(client, HEARTBEAT);
  }

  destroyClients(): void {
    for (const { output } of this.clients) output.destroy();
    this.clients.clear();
  }

  private writeTo(client: StreamClient, chunk: StreamChunk): void {
    const { output } = client;
    if (output.writableLength > this.limits.backlogBytes + client.firstBytes) {
      this.droppedCount += 1;
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

function isFor(client: StreamClient, factoryId: string | null): boolean {
  return factoryId === null || client.factoryId === null || client.factoryId === factoryId;
}

function bytesFor({ isCompressed }: StreamClient, chunk: StreamChunk): Buffer {
  return isCompressed ? chunk.compressed : chunk.plain;
}
