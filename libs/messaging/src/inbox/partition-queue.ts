import { ContiguousOffsets } from '#libs/delivery';
import { type InboundMessage, type MessageHandler } from './inbound-message.js';

export interface PartitionQueueOptions {
  /** Messages, and bytes of them, of the partition that may be handled at the same time. */
  window: number;
  windowBytes: number;
  /** Messages or bytes that may wait before the partition is paused; a fifth of that resumes it. */
  pauseAt: number;
  pauseAtBytes: number;
  onResume: () => void;
}

export type QueuedMessage = Omit<InboundMessage, 'signal'>;

/** Started in one turn of the event loop, so that parsing a whole fetch does not stop heartbeats and answers. */
const STARTS_PER_TURN = 32;
const START_BYTES_PER_TURN = 256 * 1024;
const RESUME_AT = 0.2;

/**
 * The messages of one owned partition between fetch and commit. Owned by the inbox for as long as
 * the partition is assigned; closed when the partition is revoked or the process stops. What a
 * closed queue has not finished stays uncommitted and is delivered again to the next owner.
 */
export class PartitionQueue {
  private readonly offsets = new ContiguousOffsets();
  private readonly waiting: QueuedMessage[] = [];
  private readonly controller = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private waitingBytes = 0;
  private runningBytes = 0;
  private nextOffset = 0;
  private paused = false;
  private fillScheduled = false;

  constructor(
    private readonly handle: MessageHandler,
    private readonly options: PartitionQueueOptions,
  ) {}

  /** Takes what was fetched, returns whether the partition must be paused now. */
  push(messages: readonly QueuedMessage[]): boolean {
    for (const message of messages) {
      // After a rebalance that left the partition here, Kafka hands out again what is queued already.
      if (message.offset < this.nextOffset) continue;
      this.nextOffset = message.offset + 1;
      this.waiting.push(message);
      this.waitingBytes += sizeOf(message);
    }
    this.fill();
    const { pauseAt, pauseAtBytes } = this.options;
    this.paused ||= this.waiting.length >= pauseAt || this.waitingBytes >= pauseAtBytes;
    return this.paused;
  }

  /** The offset to commit; undefined while nothing is finished. */
  committable(): number | undefined {
    return this.offsets.committable();
  }

  /** Messages waiting or being handled. */
  get size(): number {
    return this.waiting.length + this.running.size;
  }

  /** Starts nothing more; resolves when every handler that runs has returned. */
  async close(reason: Error): Promise<void> {
    this.waiting.length = 0;
    this.waitingBytes = 0;
    this.controller.abort(reason);
    await Promise.allSettled(this.running);
  }

  private fill(): void {
    let startedBytes = 0;
    for (let started = 0; this.hasRoom(); started += 1) {
      const next = this.waiting[0];
      if (next === undefined) break;
      if (started === STARTS_PER_TURN || startedBytes >= START_BYTES_PER_TURN) {
        this.fillInNextTurn();
        break;
      }
      startedBytes += sizeOf(next);
      this.waiting.shift();
      this.waitingBytes -= sizeOf(next);
      this.start(next);
    }
    this.resumeWhenShort();
  }

  private hasRoom(): boolean {
    const { window, windowBytes } = this.options;
    const hasRoom = this.running.size < window && this.runningBytes < windowBytes;
    return hasRoom && !this.controller.signal.aborted;
  }

  private fillInNextTurn(): void {
    if (this.fillScheduled) return;
    this.fillScheduled = true;
    setImmediate(() => {
      this.fillScheduled = false;
      this.fill();
    });
  }

  private resumeWhenShort(): void {
    const { pauseAt, pauseAtBytes, onResume } = this.options;
    if (!this.paused) return;
    if (this.waiting.length > pauseAt * RESUME_AT) return;
    if (this.waitingBytes > pauseAtBytes * RESUME_AT) return;
    this.paused = false;
    onResume();
  }

  private start(message: QueuedMessage): void {
    this.offsets.start(message.offset);
    this.runningBytes += sizeOf(message);
    const run = this.handle({ ...message, signal: this.controller.signal })
      .then(
        () => {
          this.offsets.finish(message.offset);
        },
        // Only an abort ends a handler early (see deliver-message.ts): the offset stays put.
        () => undefined,
      )
      .finally(() => {
        this.running.delete(run);
        this.runningBytes -= sizeOf(message);
        this.fill();
      });
    this.running.add(run);
  }
}

function sizeOf({ key, value }: QueuedMessage): number {
  return (key?.length ?? 0) + (value?.length ?? 0);
}
