import { setMaxListeners } from 'node:events';
import { Logger } from '@nestjs/common';
import type { FetchControl, FetchedRecord } from '../client/kafka-port.js';
import type { CommittedProgress } from '../producer/committed-offsets.js';
import type {
  PartitionTransactions,
  TransactionListener,
} from '../producer/partition-transactions.js';
import type { TransactionEntry } from '../producer/pending-entries.js';
import { FetchContinuity } from './fetch-continuity.js';
import { type MessageContext, PartitionMessage } from './inbound-message.js';
import { LogEnds } from './log-ends.js';
import { PartitionProgress } from './partition-progress.js';

/** Limits of unfinished messages of a partition. At a limit its fetch is paused. */
export interface PartitionLimits {
  /** Fetched messages that are not overtaken. */
  maxUnfinished: number;
  /** Overtaken messages of all partitions, which wait for few machines; each partition may have `maxUnfinished`. */
  maxOvertaken: number;
  maxUnfinishedBytes: number;
  /** Offsets from the lowest unfinished to the highest handed over: the most that a crash delivers again. */
  maxSpan: number;
}

export type Transactions = Pick<
  PartitionTransactions,
  'addToTransaction' | 'commitPending' | 'endTransactions' | 'commitProblem' | 'fenced'
>;

export interface PartitionContext extends MessageContext {
  /** Removed from the topic names that messages carry. */
  topicPrefix: string;
  member: Pick<FetchControl, 'resume' | 'seek'>;
  /** Counts the overtaken messages of all partitions. */
  allOvertaken: () => number;
  /** Called when this partition has fewer overtaken messages: other partitions may be resumed. */
  overtakenFell: () => void;
  /** Messages of all partitions that Kafka deleted before they were read, by topic. */
  lost: Map<string, number>;
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

/** Reasons why fetched messages are not handed over. */
type PauseReason = 'state' | 'progress' | 'rebalance';

const MIB = 1024 * 1024;
const LIMITS: PartitionLimits = {
  maxUnfinished: 2500,
  maxOvertaken: 10_000,
  maxUnfinishedBytes: 8 * MIB,
  maxSpan: 250_000,
};
/** Share of the limits at which a paused partition is resumed. */
const RESUME_AT = 0.5;
/** Limits of one turn of the event loop: parsing a whole fetch at once would hold up heartbeats and answers. */
const CHUNK_MESSAGES = 64;
const CHUNK_BYTES = 256 * 1024;
/**
 * Limit of messages in flight, and of their bytes, as a multiple of the limits that pause a partition; handing over
 * goes on at half of it. A batch may hold 100,000 messages or 64 MiB, and each message takes kilobytes, or several
 * times its own size, until its outcome is written.
 */
const IN_FLIGHT_FACTOR = 2;
const logger = new Logger('Consumer');

/**
 * An input partition from its assignment until it is revoked or the process stops: the buffer of messages that are
 * fetched and not yet committed.
 *
 * A message is *waiting* (fetched), then *in flight* (handed over), then *ended*: finished in a transaction, or
 * abandoned. Handing over is paused for a {@link PauseReason}, the fetch while too many messages are waiting or in
 * flight. Messages that are unfinished when the partition is closed are delivered again to the next owner.
 */
export class AssignedPartition {
  private readonly closing = new AbortController();
  /** Aborts when the partition is revoked, or the process stops. */
  readonly revoked = this.closing.signal;
  /** The topic without its prefix. */
  readonly input: string;
  readonly progress = new PartitionProgress();
  readonly ends: LogEnds;
  readonly continuity: FetchContinuity;
  readonly transactions: Transactions;
  private readonly pauseReasons = new Set<PauseReason>();
  /** Back-pressure: the fetch is paused because too many messages are unfinished. */
  isFetchPaused = false;
  private isHandingOver = false;
  private isFull = false;
  private inFlight = 0;
  private inFlightBytes = 0;
  private readonly whenEmpty: (() => void)[] = [];

  /** @param isAnotherLog the topic was recreated or truncated: committed offsets belong to the former log */
  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly context: PartitionContext,
    isAnotherLog = false,
    private readonly limits = LIMITS,
  ) {
    // Each waiting message adds a listener: their number is no leak.
    setMaxListeners(0, this.revoked);
    this.input = topic.slice(context.topicPrefix.length);
    this.ends = new LogEnds(topic, partition, context.lost);
    this.continuity = new FetchContinuity(this.progress, this.ends);
    this.transactions = context.beginTransactions(topic, partition, this.progress, {
      progressRead: (earlier) => {
        if (!isAnotherLog) this.progressRead(earlier);
      },
      offsetCommitted: (offset) => this.continuity.offsetCommitted(offset),
      entryCommitted: (entry: MessageEntry) => {
        this.progress.entryCommitted(entry);
        if (entry.isLast)
          for (const message of entry.messages) this.messageEnded(message, 'finished');
      },
      entryDropped: ({ messages, isLast }: MessageEntry) => {
        // Otherwise the message's handler abandons it.
        if (isLast) for (const message of messages) this.messageEnded(message, 'abandoned');
      },
      entryRefused: ({ messages, isLast }: MessageEntry, err) => {
        const [first] = messages;
        logger.error({ msg: 'outcome not written', topic, partition, offset: first?.offset, err });
        // Before later messages, so that they end in the order of offsets.
        for (const message of messages) message.recordsRefused(err, isLast);
      },
    });
  }

  /** Seeks back, once, if a fetch from `first` on leaves messages out; returns whether to ignore it. */
  seekSkipped(first: number, isEmpty = false): boolean {
    if (this.revoked.aborted) return false;
    const judged = this.continuity.judgeBegin(first, isEmpty);
    if (typeof judged === 'object') {
      const { topic, partition } = this;
      const { seekTo: begin } = judged;
      const msg = 'fetched again: a fetch left messages out';
      logger.warn({ msg, topic, partition, begin, first });
      this.context.member.seek(topic, partition, begin);
    }
    return judged !== 'take';
  }

  /** Buffers a fetch that ends before offset `end`, markers included; returns whether to pause the partition. */
  bufferFetched(records: readonly FetchedRecord[], end = 0): boolean {
    if (this.revoked.aborted) return false;
    const [first] = records;
    if (first !== undefined) this.continuity.messagesFetched(first.position);
    this.progress.addFetched(records, end);
    this.handOver();
    this.isFetchPaused ||= this.exceedsLimits(1);
    return this.isFetchPaused;
  }

  get backlog(): PartitionBacklog {
    const { topic, partition } = this;
    const { position, size: messages } = this.progress;
    // While a producer's transaction stays open, nothing may be fetched for long.
    const from = position ?? this.continuity.begin;
    const lag = from === undefined ? 0 : Math.max(0, this.ends.end - from);
    return { topic, partition, messages, lag };
  }

  /** Whether messages wait for state or progress. A rebalance does not count: it takes a moment. */
  get isWaiting(): boolean {
    return this.pauseReasons.has('state') || this.pauseReasons.has('progress');
  }

  pauseHandOver(reason: PauseReason): void {
    this.pauseReasons.add(reason);
  }

  resumeHandOver(reason: PauseReason): void {
    this.pauseReasons.delete(reason);
    this.handOver();
  }

  /** Stops handing over; resolves once every message in flight has ended. */
  async closeBuffer(reason: Error): Promise<void> {
    this.progress.dropWaiting();
    this.closing.abort(reason);
    if (this.inFlight === 0) return;
    await new Promise<void>((resolve) => this.whenEmpty.push(resolve));
  }

  /** Records the end of a message; {@link PartitionMessage} ensures that each ends once. */
  messageEnded(message: PartitionMessage, how: 'finished' | 'abandoned'): void {
    message.span.endSpan(how);
    const { overtaken } = this.progress;
    this.progress.recordEnded(message, how);
    this.inFlight -= 1;
    this.inFlightBytes -= message.bytes;
    if (this.inFlight === 0) for (const resolve of this.whenEmpty.splice(0)) resolve();
    if (this.revoked.aborted) return;
    this.resumeIfShort();
    if (this.progress.overtaken < overtaken) this.context.overtakenFell();
    if (this.isFull && this.inFlightShare <= IN_FLIGHT_FACTOR / 2) this.handOver();
  }

  /** Takes over the progress of earlier owners, for which messages have waited since the assignment. */
  private progressRead(earlier: CommittedProgress | undefined): void {
    if (earlier !== undefined) {
      this.continuity.progressRead(earlier);
      const { firstFetched } = this.continuity;
      if (firstFetched !== undefined && this.seekSkipped(firstFetched)) {
        this.progress.forgetFetched();
      }
      this.progress.inheritProgress(earlier);
      if (earlier.floor > 0) this.ends.logLoss(earlier.floor, earlier.begin);
    }
    this.resumeHandOver('progress');
  }

  private handOver(): void {
    if (this.isHandingOver || this.pauseReasons.size > 0 || this.revoked.aborted) return;
    this.isFull = this.inFlightShare >= IN_FLIGHT_FACTOR;
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

  /** The share of the limits that is in flight; 1 alone pauses the partition. */
  private get inFlightShare(): number {
    const { maxUnfinished, maxUnfinishedBytes } = this.limits;
    const messages = this.inFlight - this.progress.overtaken;
    return Math.max(messages / maxUnfinished, this.inFlightBytes / maxUnfinishedBytes);
  }

  private nextChunk(): PartitionMessage[] {
    const chunk: PartitionMessage[] = [];
    for (let bytes = 0; chunk.length < CHUNK_MESSAGES && bytes < CHUNK_BYTES;) {
      const next = this.progress.nextRecord();
      if (next === undefined) break;
      bytes += next.bytes;
      this.inFlight += 1;
      this.inFlightBytes += next.bytes;
      chunk.push(new PartitionMessage(next, this));
    }
    return chunk;
  }

  resumeIfShort(): void {
    if (!this.isFetchPaused || this.exceedsLimits(RESUME_AT)) return;
    this.isFetchPaused = false;
    this.context.member.resume(this.topic, this.partition);
  }

  private exceedsLimits(share: number): boolean {
    const { limits, progress } = this;
    const { overtaken } = progress;
    return (
      progress.size - overtaken >= limits.maxUnfinished * share ||
      (overtaken >= limits.maxUnfinished * share &&
        this.context.allOvertaken() >= limits.maxOvertaken * share) ||
      progress.bytes >= limits.maxUnfinishedBytes * share ||
      progress.span >= limits.maxSpan * share
    );
  }
}

type MessageEntry = TransactionEntry<PartitionMessage>;
