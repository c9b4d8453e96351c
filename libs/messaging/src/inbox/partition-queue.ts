import { Logger } from '@nestjs/common';
import { FetchPause } from './fetch-pause.js';
import { handleAgain } from './handle-again.js';
import { type HoldReason, Holds } from './holds.js';
import { type InboundRecord, type MessageHandler } from './inbound-message.js';
import { PartitionMessage } from './partition-message.js';
import { PartitionOwnership } from './partition-ownership.js';
import { PartitionProgress } from './partition-progress.js';
import { type PartitionTransactions } from './partition-transactions.js';
import { type Entry } from './waiting-writes.js';
import { type OutboundRecord } from '../outbox/outbound-record.js';
import { type QueueLimits } from './queue-limits.js';

export interface PartitionQueueOptions extends QueueLimits {
  onResume: () => void;
  /** Sets a message aside that could not be handled. */
  setAside: (message: PartitionMessage) => void;
}

export type Transactions = Pick<PartitionTransactions, 'add' | 'flush' | 'close' | 'problem'>;

/** Handed over in one turn of the event loop, so that parsing a whole fetch does not stop heartbeats and answers. */
const CHUNK_MESSAGES = 64;
const CHUNK_BYTES = 256 * 1024;
/**
 * So many times the messages that pause a partition may be under way at most, and half of it before it goes on: one batch
 * may hold hundreds of thousands, each of which takes kilobytes until its outcome is out.
 */
const UNDER_WAY_FACTOR = 2;
const logger = new Logger('Inbox');

/**
 * The messages of one owned partition between fetch and commit. Owned by the inbox for as long as
 * the partition is assigned; closed when the partition is revoked or the process stops. What a
 * closed queue has not finished stays uncommitted and is delivered again to the next owner.
 */
export class PartitionQueue {
  readonly ownership = new PartitionOwnership();
  readonly progress = new PartitionProgress();
  readonly transactions: Transactions;
  private readonly pause: FetchPause;
  private readonly holds = new Holds();
  private isHandingOver = false;
  /** As many as may be are under way. */
  private isFull = false;
  private underWay = 0;
  private readonly whenEmpty: (() => void)[] = [];

  constructor(
    private readonly handle: MessageHandler,
    private readonly options: PartitionQueueOptions,
    /** Where what messages lead to is written with their offsets. */
    createTransactions: (progress: PartitionProgress) => Transactions,
  ) {
    this.transactions = createTransactions(this.progress);
    this.pause = new FetchPause(options, this.progress, options.onResume);
  }

  /**
   * Takes what was fetched, returns whether the partition must be paused now.
   *
   * @param end the offset behind all that was fetched, markers of transactions and the like included
   */
  push(records: readonly InboundRecord[], end = 0): boolean {
    if (this.ownership.isLost) return false;
    this.progress.fetched(records, end);
    this.handOver();
    return this.pause.beginIfFull();
  }

  /** So much is unfinished that nothing more is fetched. */
  get isFetchPaused(): boolean {
    return this.pause.lasts;
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

  /** Hands nothing more over; resolves when every message handed over has ended one way or another. */
  async close(reason: Error): Promise<void> {
    this.progress.dropWaiting();
    this.ownership.lose(reason);
    if (this.underWay === 0) return;
    await new Promise<void>((resolve) => this.whenEmpty.push(resolve));
  }

  isDone(offset: number, item: number): boolean {
    return this.progress.isDone(offset, item);
  }

  tell(message: PartitionMessage, records: readonly OutboundRecord[], item?: number): void {
    this.write(message, records, {
      isLast: false,
      item,
      committed: () => {
        if (item !== undefined) this.progress.done(message.offset, item);
      },
      dropped: () => undefined,
    });
  }

  finish(message: PartitionMessage, records: readonly OutboundRecord[]): void {
    this.write(message, records, {
      isLast: true,
      item: undefined,
      committed: () => {
        this.ended(message, 'finished');
        message.onFinished?.(message);
      },
      dropped: () => {
        this.ended(message, 'abandoned');
      },
    });
  }

  private write(
    message: PartitionMessage,
    records: readonly OutboundRecord[],
    ending: Pick<Entry, 'isLast' | 'item' | 'committed' | 'dropped'>,
  ): void {
    const { topic, partition, offset } = message;
    this.transactions.add({
      ...{ offset, records, ...ending },
      refused: (error) => {
        logger.error({ msg: 'outcome not written', topic, partition, offset, err: error });
        message.notWritten(error);
      },
    });
  }

  /** A message has ended: {@link PartitionMessage} sees to it that each does so once. */
  ended(message: PartitionMessage, how: 'finished' | 'abandoned'): void {
    this.progress.ended(message, how);
    this.underWay -= 1;
    if (this.underWay === 0) for (const resolve of this.whenEmpty.splice(0)) resolve();
    if (this.ownership.isLost) return;
    this.pause.endIfShort();
    if (this.isFull && this.underWay <= this.mostUnderWay / 2) this.handOver();
  }

  failed(message: PartitionMessage, error: unknown): void {
    void handleAgain(message, error, this.handle, this.options.setAside);
  }

  /** One chunk after the other, so that messages are taken in their order. */
  private handOver(): void {
    if (this.isHandingOver || this.holds.isAny || this.ownership.isLost) return;
    this.isFull = this.underWay >= this.mostUnderWay;
    if (this.isFull) return;
    const chunk = this.nextChunk();
    if (chunk.length === 0) {
      this.pause.endIfShort();
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

  private get mostUnderWay(): number {
    return this.options.maxUnfinished * UNDER_WAY_FACTOR;
  }

  private nextChunk(): PartitionMessage[] {
    const chunk: PartitionMessage[] = [];
    for (let bytes = 0; chunk.length < CHUNK_MESSAGES && bytes < CHUNK_BYTES;) {
      const next = this.progress.next();
      if (next === undefined) break;
      bytes += next.bytes;
      this.underWay += 1;
      chunk.push(new PartitionMessage(next, this));
    }
    return chunk;
  }
}
