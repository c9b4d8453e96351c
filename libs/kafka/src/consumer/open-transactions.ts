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
/** A partition that is paused, or another process's, is not fetched. */
const FORGOTTEN_AFTER_MS = 10_000;

interface OpenTransaction {
  place: string;
  sinceMs: number;
  seenMs: number;
  isLogged: boolean;
}

/**
 * Transactions of producers that stay open in fetched partitions. Of what is behind the first record of one, committed
 * or not, Kafka hands nothing on: without this, such messages wait and nobody knows why.
 */
export class OpenTransactions {
  private readonly logger = new Logger('Consumer');
  private readonly open = new Map<string, OpenTransaction>();

  /** Of transactions that last longer than brokers let them by default, in words. */
  get problem(): string | undefined {
    const nowMs = realNowMs();
    const hanging = [...this.open.values()].filter(({ sinceMs, seenMs }) => {
      return nowMs - sinceMs >= HANGS_AFTER_MS && nowMs - seenMs < FORGOTTEN_AFTER_MS;
    });
    if (hanging.length === 0) return undefined;
    const places = hanging.map(({ place }) => place).join(', ');
    return `a producer's transaction does not end at ${places}: end it, or abort it (kafka-transactions.sh)`;
  }

  endsFetched(topic: string, { partition, highWatermark, lastStableOffset }: FetchedEnds): void {
    const key = `${topic}/${partition}`;
    const waiting = Number(highWatermark) - Number(lastStableOffset);
    if (!(waiting > 0)) {
      this.open.delete(key);
      return;
    }
    const nowMs = realNowMs();
    const place = `${key} offset ${lastStableOffset}`;
    const known = this.open.get(key);
    if (known?.place !== place) {
      this.open.set(key, { place, sinceMs: nowMs, seenMs: nowMs, isLogged: false });
      return;
    }
    known.seenMs = nowMs;
    if (known.isLogged || nowMs - known.sinceMs < LOGGED_AFTER_MS) return;
    known.isLogged = true;
    const offset = Number(lastStableOffset);
    const msg = "messages wait behind a producer's open transaction";
    this.logger.warn({ msg, topic, partition, offset, waiting });
  }
}
