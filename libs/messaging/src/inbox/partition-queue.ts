import { ContiguousOffsets } from '#libs/delivery';
import { type InboundMessage, type MessageHandler } from './inbound-message.js';

export interface PartitionQueueOptions {
  /** Messages of the partition that may be handled at the same time. */
  window: number;
  /** Messages that may wait before the partition is paused, and how few resume it. */
  pauseAt: number;
  resumeAt: number;
  onResume: () => void;
}

export type QueuedMessage = Omit<InboundMessage, 'signal'>;

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
  private nextOffset = 0;
  private paused = false;

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
    }
    this.fill();
    this.paused ||= this.waiting.length >= this.options.pauseAt;
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
    this.controller.abort(reason);
    await Promise.allSettled(this.running);
  }

  private fill(): void {
    while (this.running.size < this.options.window && !this.controller.signal.aborted) {
      const message = this.waiting.shift();
      if (message === undefined) break;
      this.start(message);
    }
    if (this.paused && this.waiting.length <= this.options.resumeAt) {
      this.paused = false;
      this.options.onResume();
    }
  }

  private start(message: QueuedMessage): void {
    this.offsets.start(message.offset);
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
        this.fill();
      });
    this.running.add(run);
  }
}
