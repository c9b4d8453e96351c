import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { type MessageHeaders } from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import { type Unreadable } from '#libs/kafkajs-patches';
import { type OutboundRecord } from '../producer/outbound-record.js';
import { type RecordRefusedError } from '../producer/record-refused.js';
import { type InboundRecord } from '../reading/inbound-record.js';
import { type CommittedProgress } from './committed-offsets.js';
import { type InboundMessage, type MessageHandler, type WhenRefused } from './inbound-message.js';
import { PartitionOwnership } from './partition-ownership.js';
import { PartitionProgress } from './partition-progress.js';
import { type PartitionTransactions, type TransactionListener } from './partition-transactions.js';
import { TransactionEntry } from './pending-entries.js';

/** How much of a partition may be unfinished before nothing more of it is fetched. */
export interface PartitionLimits {
  /** Messages, and bytes of them, that have been fetched. */
  maxUnfinished: number;
  maxUnfinishedBytes: number;
  /** How far messages may be finished ahead of the lowest unfinished one: so many are delivered again after a crash. */
  maxSpan: number;
}

export type Transactions = Pick<
  PartitionTransactions,
  'addToTransaction' | 'commitPending' | 'endTransactions' | 'problem' | 'fenced'
>;

/** What all partitions have to do with. */
export interface PartitionContext {
  handle: MessageHandler;
  /** Sets a message aside that could not be handled. */
  deadLetter: (message: PartitionMessage) => void;
  /** Fetches from a partition again that had to be paused. */
  resume: (topic: string, partition: number) => void;
  /** Fetches a partition from that offset on. */
  seek: (topic: string, partition: number, offset: number) => void;
  /** Begins the transactions of a partition. */
  beginTransactions: (
    topic: string,
    partition: number,
    progress: PartitionProgress,
    listener: TransactionListener,
  ) => Transactions;
}

export interface PartitionBacklog {
  topic: string;
  partition: number;
  /** Fetched and not yet final. */
  messages: number;
  /** In Kafka and not yet committed. */
  lag: number;
}

/**
 * Why messages wait though they have been fetched: for what they are judged by, for what earlier owners have finished,
 * or for a rebalance to be over.
 */
type HoldReason = 'state' | 'recall' | 'rest';

const MIB = 1024 * 1024;
const LIMITS: PartitionLimits = {
  maxUnfinished: 2500,
  maxUnfinishedBytes: 8 * MIB,
  maxSpan: 250_000,
};
/** At half of what pauses a partition it is resumed. */
const RESUME_AT = 0.5;
/** Handed over in one turn of the event loop, so that parsing a whole fetch does not stop heartbeats and answers. */
const CHUNK_MESSAGES = 64;
const CHUNK_BYTES = 256 * 1024;
/**
 * So many times the messages that pause a partition may be under way at most, and half of it before it goes on: one batch
 * may hold hundreds of thousands, each of which takes kilobytes until its outcome is out.
 */
const UNDER_WAY_FACTOR = 2;
const ATTEMPTS = 3;
const BACK_OFF = { baseMs: 100, capMs: 2000 };
const logger = new Logger('Inbox');

/**
 * An input partition from its assignment until it is revoked or the process stops: what has been fetched of it and is
 * not committed yet.
 *
 * A message is *waiting* (fetched), then *under way* (handed over), then *ended*: finished in a transaction, or abandoned.
 * Nothing is handed over while the partition is held, see {@link HoldReason}. So much may be waiting and under way that
 * the partition is *paused*: nothing more is fetched. What has not been finished when the partition is closed stays
 * uncommitted, and is delivered again to the next owner.
 */
export class AssignedPartition {
  readonly ownership = new PartitionOwnership();
  readonly progress = new PartitionProgress();
  readonly transactions: Transactions;
  private readonly holds = new Set<HoldReason>();
  private isPaused = false;
  private isHandingOver = false;
  /** As many as may be are under way. */
  private isFull = false;
  private inFlight = 0;
  private readonly whenEmpty: (() => void)[] = [];
  /** Where the first fetch has begun. */
  private firstFetched: number | undefined;
  /** Where it must begin, once that is known and until it has. */
  private requiredStart: number | undefined;
  private hasSought = false;
  /** The end of the partition when it was last read. */
  private highWatermark = 0;
  /** The offset whose commit Kafka last acknowledged. */
  private acknowledged = 0;
  /** No fetch begins below this while the log is the one it was. */
  private floor = 0;

  /** @param isAnotherLog its log has begun anew: what was committed is of the one before */
  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly context: PartitionContext,
    isAnotherLog = false,
    private readonly limits = LIMITS,
  ) {
    this.transactions = context.beginTransactions(topic, partition, this.progress, {
      progressRead: (left) => {
        if (!isAnotherLog) this.progressRead(left);
      },
      offsetCommitted: (offset) => {
        this.acknowledged = offset;
      },
    });
  }

  /**
   * Whether a fetch that begins there leaves out what is to be done first: it was under way when the partition came
   * here, asked for by this process as it had the partition before. What it leaves out is fetched, once: where it is no
   * more, the log itself begins later.
   *
   * @param isEmpty it has nothing for anybody; where it is from before that, its end must not count
   */
  skips(first: number, isEmpty = false): boolean {
    this.firstFetched ??= first;
    const begin = this.requiredStart;
    if (begin === undefined || this.ownership.isLost) return false;
    const isThere = first <= begin || (this.hasSought && !isEmpty);
    if (isThere) this.requiredStart = undefined;
    else if (!this.hasSought) this.seek(begin, first);
    return !isThere;
  }

  private seek(begin: number, first: number): void {
    const { topic, partition } = this;
    const msg = 'fetched again: a fetch left messages out';
    logger.warn({ msg, topic, partition, begin, first });
    this.hasSought = true;
    this.context.seek(topic, partition, begin);
  }

  /**
   * Whether a fetch that begins there is of another log: a topic that was made anew, or truncated, holds other messages
   * under old offsets. It may begin below what is committed by now: where it begins is settled before it is under way,
   * and commits go on meanwhile.
   *
   * @param highWatermark the end of the partition, which may be lower than before
   */
  isAnotherLog(first: number, highWatermark: number): boolean {
    const { fetchedEnd } = this.progress;
    return first < this.floor || (first < fetchedEnd && highWatermark < fetchedEnd);
  }

  /** A rebalance has left the partition here: it is fetched from what was committed by now. */
  assignedAgain(): void {
    this.floor = this.acknowledged;
  }

  /**
   * Takes what was fetched, returns whether the partition must be paused now.
   *
   * @param end the offset behind all that was fetched, markers of transactions and the like included
   * @param highWatermark the end of the partition
   */
  bufferFetched(records: readonly InboundRecord[], end = 0, highWatermark = 0): boolean {
    if (this.ownership.isLost) return false;
    const [first] = records;
    if (first !== undefined && first.offset >= this.acknowledged) this.floor = this.acknowledged;
    this.highWatermark = highWatermark;
    this.progress.addFetched(records, end);
    this.handOver();
    this.isPaused ||= this.isBeyond(1);
    return this.isPaused;
  }

  /** The end of the partition as Kafka was asked for it, perhaps before the latest fetch. */
  endOffsetRead(highWatermark: number): void {
    this.highWatermark = Math.max(this.highWatermark, highWatermark);
  }

  get backlog(): PartitionBacklog {
    const { topic, partition, highWatermark } = this;
    const { position, size: messages } = this.progress;
    const lag = position === undefined ? 0 : Math.max(0, highWatermark - position);
    return { topic, partition, messages, lag };
  }

  /** So much is unfinished that nothing more is fetched. */
  get isFetchPaused(): boolean {
    return this.isPaused;
  }

  /** Messages wait for something that is not there yet. In a rebalance nothing is lacking: it is over in a moment. */
  get isHeld(): boolean {
    return this.holds.has('state') || this.holds.has('recall');
  }

  /** Nothing is handed over until {@link releaseHold}. */
  holdMessages(reason: HoldReason): void {
    this.holds.add(reason);
  }

  releaseHold(reason: HoldReason): void {
    this.holds.delete(reason);
    this.handOver();
  }

  /** Hands nothing more over; resolves when every message handed over has ended one way or another. */
  async closeBuffer(reason: Error): Promise<void> {
    this.progress.dropWaiting();
    this.ownership.lose(reason);
    if (this.inFlight === 0) return;
    await new Promise<void>((resolve) => this.whenEmpty.push(resolve));
  }

  isItemDone(offset: number, item: number): boolean {
    return this.progress.isItemDone(offset, item);
  }

  publishFor(message: PartitionMessage, records: readonly OutboundRecord[], item?: number): void {
    this.transactions.addToTransaction(new PublishedRecords(this, message, records, item));
  }

  finishMessages(
    messages: readonly PartitionMessage[],
    records: readonly OutboundRecord[],
    refused: (refusal: RecordRefusedError) => void,
  ): void {
    this.transactions.addToTransaction(new FinishedMessages(this, messages, records, refused));
  }

  /** A message has ended: {@link PartitionMessage} sees to it that each does so once. */
  messageEnded(message: PartitionMessage, how: 'finished' | 'abandoned'): void {
    this.progress.recordEnded(message, how);
    this.inFlight -= 1;
    if (this.inFlight === 0) for (const resolve of this.whenEmpty.splice(0)) resolve();
    if (this.ownership.isLost) return;
    this.resumeIfShort();
    if (this.isFull && this.inFlight <= this.maxInFlight / 2) this.handOver();
  }

  messageFailed(message: PartitionMessage, error: unknown): void {
    void this.retryHandler(message, error);
  }

  /** What earlier owners have left, for which the messages of a partition that has come here wait. */
  private progressRead(left: CommittedProgress | undefined): void {
    this.requiredStart = left?.begin;
    if (this.firstFetched !== undefined && this.skips(this.firstFetched)) {
      this.progress.forgetFetched();
    }
    if (left !== undefined) this.progress.inheritProgress(left);
    this.releaseHold('recall');
  }

  /**
   * Handles a message anew, by itself, after something failed that no message can cause; sets it aside when that has
   * happened too often, because one message must neither stop those behind it nor end the process. One whose calls have
   * been answered is set aside at once. Never rejects.
   */
  private async retryHandler(message: PartitionMessage, error: unknown): Promise<void> {
    const { ownership } = this;
    const { topic, partition, offset, failures } = message;
    if (!ownership.isLost) {
      logger.error({ msg: 'handler failed', topic, partition, offset, failures, err: error });
    }
    try {
      await realDelayMs(backOffMs(failures, BACK_OFF), ownership.signal);
      if (failures < ATTEMPTS && !message.isAnswered) {
        message.handledAgain();
        await this.context.handle([message]);
      } else {
        this.context.deadLetter(message);
      }
    } catch (failure) {
      if (ownership.isLost) {
        message.abandon();
        return;
      }
      message.handledAgain();
      message.fail(failure);
    }
  }

  /** One chunk after the other, so that messages are taken in their order. */
  private handOver(): void {
    if (this.isHandingOver || this.holds.size > 0 || this.ownership.isLost) return;
    this.isFull = this.inFlight >= this.maxInFlight;
    if (this.isFull) return;
    const chunk = this.nextChunk();
    if (chunk.length === 0) {
      this.resumeIfShort();
      return;
    }
    this.isHandingOver = true;
    void this.context
      .handle(chunk)
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

  private get maxInFlight(): number {
    return this.limits.maxUnfinished * UNDER_WAY_FACTOR;
  }

  private nextChunk(): PartitionMessage[] {
    const chunk: PartitionMessage[] = [];
    for (let bytes = 0; chunk.length < CHUNK_MESSAGES && bytes < CHUNK_BYTES;) {
      const next = this.progress.nextRecord();
      if (next === undefined) break;
      bytes += next.bytes;
      this.inFlight += 1;
      chunk.push(new PartitionMessage(next, this));
    }
    return chunk;
  }

  private resumeIfShort(): void {
    if (!this.isPaused || this.isBeyond(RESUME_AT)) return;
    this.isPaused = false;
    this.context.resume(this.topic, this.partition);
  }

  /** Whether more is unfinished than this share of what may be. */
  private isBeyond(share: number): boolean {
    const { limits, progress } = this;
    return (
      progress.size >= limits.maxUnfinished * share ||
      progress.bytes >= limits.maxUnfinishedBytes * share ||
      progress.span >= limits.maxSpan * share
    );
  }
}

/**
 * A message on its way through the bridge. A class: there are tens of thousands a second. What it says of its record
 * is read there when it is asked for, so it must not be spread.
 */
export class PartitionMessage implements InboundMessage {
  /** How often handling it has failed. */
  failures = 0;
  /** Its calls have been answered: it must not be handled anew. */
  isAnswered = false;
  /** It is known what becomes of it; that may have to be written still. */
  private hasEnded = false;
  /** Since it was last handled: what several of its commands tell of one attempt is one failure. */
  private hasFailed = false;
  /** What of it was told here, written or not. */
  private publishedItems: Set<number> | undefined;

  constructor(
    private readonly record: InboundRecord,
    private readonly assigned: AssignedPartition,
  ) {}

  get topic(): string {
    return this.record.topic;
  }

  get partition(): number {
    return this.record.partition;
  }

  get offset(): number {
    return this.record.offset;
  }

  get timestamp(): string {
    return this.record.timestamp;
  }

  get key(): Buffer | null {
    return this.record.key;
  }

  get value(): Buffer | null {
    return this.record.value;
  }

  get headers(): MessageHeaders {
    return this.record.headers;
  }

  get bytes(): number {
    return this.record.bytes;
  }

  get unreadable(): Unreadable | undefined {
    return this.record.unreadable;
  }

  get ownership(): PartitionOwnership {
    return this.assigned.ownership;
  }

  isItemDone(item: number): boolean {
    return this.publishedItems?.has(item) === true || this.assigned.isItemDone(this.offset, item);
  }

  publish(records: readonly OutboundRecord[], item?: number): void {
    if (this.hasEnded || (item !== undefined && this.isItemDone(item))) return;
    if (item !== undefined) (this.publishedItems ??= new Set()).add(item);
    this.assigned.publishFor(this, records, item);
  }

  finish(records: readonly OutboundRecord[] = [], orElse?: WhenRefused): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.assigned.finishMessages([this], records, (refusal) => {
      this.hasEnded = false;
      if (orElse === undefined) this.fail(refusal, true);
      else this.finish(orElse(refusal));
    });
  }

  finishWith(
    others: readonly PartitionMessage[],
    records: readonly OutboundRecord[],
    apart: (message: InboundMessage) => void,
  ): void {
    const messages = [this, ...others].filter((message) => !message.hasEnded);
    if (messages.length === 0) return;
    for (const message of messages) message.hasEnded = true;
    // they end in their order, before those behind them
    this.assigned.finishMessages(messages, records, () => {
      for (const message of messages) {
        message.hasEnded = false;
        apart(message);
      }
    });
  }

  abandon(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.assigned.messageEnded(this, 'abandoned');
  }

  fail(error: unknown, isAnswered = false): void {
    this.isAnswered ||= isAnswered;
    if (this.hasEnded || this.hasFailed) return;
    this.hasFailed = true;
    this.failures += 1;
    this.assigned.messageFailed(this, error);
  }

  handledAgain(): void {
    this.hasFailed = false;
  }
}

/** What is said of a message before it is finished. */
class PublishedRecords extends TransactionEntry {
  constructor(
    private readonly partition: AssignedPartition,
    private readonly message: PartitionMessage,
    records: readonly OutboundRecord[],
    item: number | undefined,
  ) {
    super([message.offset], records, false, item);
  }

  override entryCommitted(): void {
    const { partition, message, item } = this;
    if (item !== undefined) partition.progress.itemDone(message.offset, item);
  }

  override entryDropped(): void {
    // its message is abandoned by whoever handles it
  }

  override entryRefused(error: RecordRefusedError): void {
    logRefused(this.message, error);
    this.message.fail(error, true);
  }
}

/** The end of a message, or of several. A class: there are tens of thousands a second. */
class FinishedMessages extends TransactionEntry {
  constructor(
    private readonly partition: AssignedPartition,
    private readonly messages: readonly PartitionMessage[],
    records: readonly OutboundRecord[],
    private readonly whenRefused: (refusal: RecordRefusedError) => void,
  ) {
    super(
      messages.map(({ offset }) => offset),
      records,
      true,
    );
  }

  override entryCommitted(): void {
    for (const message of this.messages) this.partition.messageEnded(message, 'finished');
  }

  override entryDropped(): void {
    for (const message of this.messages) this.partition.messageEnded(message, 'abandoned');
  }

  override entryRefused(error: RecordRefusedError): void {
    logRefused(this.messages[0], error);
    this.whenRefused(error);
  }
}

function logRefused(message: PartitionMessage | undefined, error: RecordRefusedError): void {
  const { topic, partition, offset } = message ?? {};
  logger.error({ msg: 'outcome not written', topic, partition, offset, err: error });
}
