import { ContiguousOffsets, type FinishedAhead } from '#libs/delivery';
import { handleAgain } from './handle-again.js';
import { type HoldReason, Holds } from './holds.js';
import { type InboundMessage, type InboundRecord, type MessageHandler } from './inbound-message.js';
import { PartitionMessage } from './partition-message.js';
import { PartitionOwnership } from './partition-ownership.js';
import { isFull, type QueueLimits } from './queue-limits.js';
import { WaitingRecords } from './waiting-records.js';

export interface PartitionQueueOptions extends QueueLimits {
  onResume: () => void;
  /** Sets a message aside that could not be handled. */
  setAside: (message: InboundMessage) => Promise<void>;
}

/** Handed over in one turn of the event loop, so that parsing a whole fetch does not stop heartbeats and answers. */
const CHUNK_MESSAGES = 64;
const CHUNK_BYTES = 256 * 1024;

/**
 * The messages of one owned partition between fetch and commit. Owned by the inbox for as long as
 * the partition is assigned; closed when the partition is revoked or the process stops. What a
 * closed queue has not finished stays uncommitted and is delivered again to the next owner.
 */
export class PartitionQueue {
  readonly ownership = new PartitionOwnership();
  private readonly offsets = new ContiguousOffsets();
  private readonly waiting = new WaitingRecords();
  private unfinishedBytes = 0;
  private isPaused = false;
  private readonly holds = new Holds();
  private isHandingOver = false;
  private underWay = 0;
  private readonly whenEmpty: (() => void)[] = [];

  constructor(
    private readonly handle: MessageHandler,
    private readonly options: PartitionQueueOptions,
  ) {}

  /**
   * Takes what was fetched, returns whether the partition must be paused now.
   *
   * @param end the offset behind all that was fetched, markers of transactions and the like included
   */
  push(records: readonly InboundRecord[], end = 0): boolean {
    if (this.ownership.isLost) return false;
    for (const record of records) {
      if (this.waiting.add(record)) this.unfinishedBytes += record.bytes;
    }
    this.waiting.fetchedUpTo(end);
    this.handOver();
    this.isPaused ||= this.isFull;
    return this.isPaused;
  }

  /** The offset to commit; undefined while nothing is finished. */
  committable(): number | undefined {
    return this.offsets.committable();
  }

  /** The lowest offset that has been handed over and is not finished. */
  get lowestUnfinished(): number | undefined {
    return this.offsets.lowestUnfinished;
  }

  /** The lowest offset that is not finished; undefined before the first fetch. */
  get position(): number | undefined {
    const { takenUpTo } = this.waiting;
    return this.offsets.lowestUnfinished ?? (takenUpTo === 0 ? undefined : takenUpTo);
  }

  /** Behind all that has been fetched; 0 before the first fetch. */
  get fetchedEnd(): number {
    return this.waiting.fetchedEnd;
  }

  /** Messages fetched and not finished. */
  get size(): number {
    return this.waiting.size + this.offsets.open;
  }

  /** So much is unfinished that nothing more is fetched. */
  get isFetchPaused(): boolean {
    return this.isPaused;
  }

  /** Messages wait for something that is not there yet. */
  get isHeld(): boolean {
    return this.holds.isForLack;
  }

  /** Nothing is handed over until {@link release}. */
  hold(reason: HoldReason): void {
    this.holds.add(reason);
  }

  release(reason: HoldReason): void {
    this.holds.delete(reason);
    this.handOver();
  }

  /** What an earlier owner has finished ahead of what it committed is finished here as well. */
  recall(finished: FinishedAhead | undefined): void {
    this.offsets.inherit(finished);
  }

  /** What has finished ahead of {@link committable}, as its commit's metadata, and whether that is all of it. */
  get finishedAhead(): { metadata: string; isWhole: boolean } {
    return this.offsets.finishedAhead;
  }

  /** Hands nothing more over; resolves when every message handed over has ended one way or another. */
  async close(reason: Error): Promise<void> {
    this.waiting.clear();
    this.ownership.lose(reason);
    if (this.underWay === 0) return;
    await new Promise<void>((resolve) => this.whenEmpty.push(resolve));
  }

  doneInPart({ offset }: PartitionMessage): void {
    this.offsets.doneInPart(offset);
  }

  /** A message has ended: {@link PartitionMessage} sees to it that each does so once. */
  ended(message: PartitionMessage, how: 'finished' | 'abandoned'): void {
    if (how === 'finished') this.offsets.finish(message.offset);
    this.offsets.passUpTo(this.waiting.takenUpTo);
    this.unfinishedBytes -= message.bytes;
    this.underWay -= 1;
    if (this.underWay === 0) for (const resolve of this.whenEmpty.splice(0)) resolve();
    this.resumeWhenShort();
  }

  failed(message: PartitionMessage, error: unknown): void {
    void handleAgain(message, error, this.handle, this.options.setAside);
  }

  /** One chunk after the other, so that messages are taken in their order. */
  private handOver(): void {
    if (this.isHandingOver || this.holds.isAny || this.ownership.isLost) return;
    const chunk = this.nextChunk();
    if (chunk.length === 0) {
      this.offsets.passUpTo(this.waiting.takenUpTo);
      this.resumeWhenShort();
      return;
    }
    this.isHandingOver = true;
    void this.handle(chunk)
      .catch((error: unknown) => {
        for (const message of chunk) message.fail(error);
      })
      .then(() => {
        setImmediate(() => {
          this.isHandingOver = false;
          this.handOver();
        });
      });
  }

  private nextChunk(): PartitionMessage[] {
    const chunk: PartitionMessage[] = [];
    for (let bytes = 0; chunk.length < CHUNK_MESSAGES && bytes < CHUNK_BYTES;) {
      const next = this.waiting.take();
      if (next === undefined) break;
      if (!this.offsets.start(next.offset)) {
        this.unfinishedBytes -= next.bytes;
        continue;
      }
      bytes += next.bytes;
      this.underWay += 1;
      chunk.push(new PartitionMessage(next, this));
    }
    return chunk;
  }

  private get isFull(): boolean {
    const { size, unfinishedBytes: bytes } = this;
    return isFull(this.options, { size, bytes, span: this.offsets.span }, this.isPaused);
  }

  private resumeWhenShort(): void {
    if (!this.isPaused || this.ownership.isLost || this.isFull) return;
    this.isPaused = false;
    this.options.onResume();
  }
}
