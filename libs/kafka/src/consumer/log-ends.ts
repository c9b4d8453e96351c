import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';

/** As much of a fetch's answer about a partition as says from where, and how far, it can be read. */
export interface FetchedEnds {
  partition: number;
  highWatermark: string;
  lastStableOffset: string;
  /** Of the oldest record that is left, as kafkajs calls it; older brokers do not say it. */
  lastStartOffset?: string;
}

/** The time-out of a transaction of Java's producers, unless they have another one. */
const LOGGED_AFTER_MS = 60_000;
/** Brokers let no transaction last longer (`transaction.max.timeout.ms`), unless told otherwise. */
const HANGS_AFTER_MS = 15 * 60_000;
/** A partition that is paused is not fetched. */
const FORGOTTEN_AFTER_MS = 10_000;
const logger = new Logger('Consumer');

/** The ends of a partition's log: how far it can be read, and what was deleted before it was. */
export class LogEnds {
  /** The end of the partition, as the latest fetch has it. */
  highWatermark = 0;
  /** As far as is known, also where nothing is fetched. */
  end = 0;
  /** Whatever was deleted below this is logged. */
  private lostUpTo = 0;
  /** A producer's open transaction: nothing behind its first record is handed on, and nobody would know why. */
  private open: { offset: number; sinceMs: number; seenMs: number; isLogged: boolean } | undefined;

  constructor(
    private readonly topic: string,
    private readonly partition: number,
  ) {}

  /** Takes the ends as a fetch has them, before what it has fetched; all below `fetchedEnd` was fetched before. */
  endsFetched(ends: FetchedEnds, fetchedEnd: number): void {
    this.highWatermark = Number(ends.highWatermark);
    this.end = this.highWatermark;
    this.noteTransaction(Number(ends.lastStableOffset));
    if (fetchedEnd > 0) this.logLoss(fetchedEnd, Number(ends.lastStartOffset));
  }

  /** Takes the end of the partition as an admin request has it, which may be older than the latest fetch. */
  endOffsetRead(highWatermark: number): void {
    this.end = Math.max(this.end, highWatermark);
  }

  /** Logs that Kafka has deleted what was not read yet, such as by retention. */
  logLoss(offset: number, until: number): void {
    if (!(until > Math.max(offset, this.lostUpTo))) return;
    this.lostUpTo = until;
    const { topic, partition } = this;
    const msg = 'messages lost: deleted before they were read';
    logger.error({ msg, topic, partition, offset, until });
  }

  /** Where a transaction lasts longer than brokers let it by default, in words. */
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
