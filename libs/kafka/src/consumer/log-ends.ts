import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import type { FetchedEnds } from '../client/kafka-port.js';

/** The default `transaction.timeout.ms` of Java's producers. */
const LOGGED_AFTER_MS = 60_000;
/** The default of brokers' `transaction.max.timeout.ms`. */
const HANGS_AFTER_MS = 15 * 60_000;
/** Age at which a report of an open transaction is out of date: a paused partition is not fetched. */
const FORGOTTEN_AFTER_MS = 10_000;
const logger = new Logger('Consumer');

/** The ends of a partition's log: how far it can be read, and which messages were deleted before they were read. */
export class LogEnds {
  /** The end of the partition in the latest fetch. */
  highWatermark = 0;
  /** The latest known end, also from admin requests while nothing is fetched. */
  end = 0;
  /** Losses below this offset have been logged. */
  private lostUpTo = 0;
  /** Messages deleted before this process read them, perhaps after another owner did. */
  private readonly deleted: { offset: number; until: number }[] = [];
  /** The first open transaction of a producer: Kafka delivers nothing from its first record on. */
  private open: { offset: number; sinceMs: number; seenMs: number; isLogged: boolean } | undefined;

  constructor(
    private readonly topic: string,
    private readonly partition: number,
    /** Lost messages so far, by topic. */
    private readonly lost: Map<string, number>,
  ) {}

  /**
   * Records the ends in a fetch, before its records are buffered; everything below `fetchedEnd` was fetched before.
   *
   * @param holdsSession whether no other process can own the partition. Another owner, such as one that took over
   * while this process was suspended, may have read what is missing here, and deleted it from a queue. Until the
   * session is confirmed, a loss is kept; with another member id or generation, the partition is opened as new.
   */
  endsFetched(ends: FetchedEnds, fetchedEnd: number, holdsSession: boolean): void {
    this.highWatermark = Number(ends.highWatermark);
    this.end = this.highWatermark;
    this.noteTransaction(Number(ends.lastStableOffset));
    const start = Number(ends.lastStartOffset);
    if (fetchedEnd > 0 && start > fetchedEnd)
      this.deleted.push({ offset: fetchedEnd, until: start });
    if (!holdsSession) return;
    for (const { offset, until } of this.deleted.splice(0)) this.logLoss(offset, until);
  }

  /** Records the end of the partition in an admin's answer, which may be older than the latest fetch. */
  endOffsetRead(highWatermark: number): void {
    this.end = Math.max(this.end, highWatermark);
  }

  /** Logs and counts messages that Kafka deleted before they were read, by retention for example. */
  logLoss(offset: number, until: number): void {
    const from = Math.max(offset, this.lostUpTo);
    if (!(until > from)) return;
    this.lostUpTo = until;
    const { lost, topic, partition } = this;
    lost.set(topic, (lost.get(topic) ?? 0) + until - from);
    const msg = 'messages lost: deleted before they were read';
    logger.error({ msg, topic, partition, offset, until });
  }

  /** Topic, partition and offset of a transaction that lasts longer than brokers allow by default. */
  get hangingTransaction(): string | undefined {
    if (this.open === undefined) return undefined;
    const { offset, sinceMs, seenMs } = this.open;
    const nowMs = realNowMs();
    const hangs = nowMs - sinceMs >= HANGS_AFTER_MS && nowMs - seenMs < FORGOTTEN_AFTER_MS;
    return hangs ? `${this.topic}/${this.partition} offset ${offset}` : undefined;
  }

  private noteTransaction(offset: number): void {
    const { topic, partition, highWatermark } = this;
    const waiting = highWatermark - offset;
    if (!(waiting > 0)) {
      this.open = undefined;
      return;
    }
    const nowMs = realNowMs();
    if (this.open?.offset !== offset) {
      this.open = { offset, sinceMs: nowMs, seenMs: nowMs, isLogged: false };
      return;
    }
    this.open.seenMs = nowMs;
    if (this.open.isLogged || nowMs - this.open.sinceMs < LOGGED_AFTER_MS) return;
    this.open.isLogged = true;
    const msg = "messages wait behind a producer's open transaction";
    logger.warn({ msg, topic, partition, offset, waiting });
  }
}
