import { Logger } from '@nestjs/common';
import { afterRealMs, everyRealMs, realDelayMs, realEpochMs, realNowMs } from '#libs/clock';
import type { IngestSettings } from '#libs/config';
import { INPUT_TOPICS, INTERNAL_TOPICS, isJsonObject, readJson } from '#libs/contracts';
import {
  describeKafkaFailure,
  ensureTopics,
  followTopics,
  type FollowState,
  IdempotentProducer,
  type KafkaClient,
  MissingTopicsError,
  type OutboundRecord,
  type StoredRecord,
  uncommittedSpans,
} from '#libs/kafka';
import {
  type Claim,
  type Holder,
  type Receipt,
  type Remembered,
  RequestTable,
} from './request-table.js';

const DAY_MS = 86_400_000;
/** A day, and the time in which a process reads it. */
const RETENTION_MS = 2 * DAY_MS;
/** 130 MB; more than 20 ids a second for a day. */
const MAX_REMEMBERED = 2_000_000;
/** A record has at least one id, and a transaction its marker. */
const MAX_OFFSETS = 2 * MAX_REMEMBERED;
/** The order of a single log decides; older topics may have more partitions. */
const PARTITION = 0;
const FORGET_EVERY_MS = 60_000;
const TRY_AGAIN_AFTER_MS = 1000;

export interface KeyedReceipt extends Receipt {
  key: string;
}

interface NewClaim {
  key: string;
  /** The claim of a fenced incarnation, to be replaced. */
  replaces: Claim | undefined;
}

interface ClaimsRecord extends Holder {
  nonce: string;
  claims: [key: string, after: number | null][];
}

/**
 * The requests of the last day that came with an id, read from two topics, so that every process knows the same. A
 * request's key is a hash of sender, source and id. A record covers all requests that arrived while the last record
 * was being written: one record each would be most of a request's cost.
 *
 * - `machine-bridge.ingest-claims.v1`: `{transactionalId, incarnation, nonce, claims: [[key, after], …]}`, written
 *   outside of transactions, by any process. The first claim of a key holds; a later one holds if its `after` is the
 *   offset of the holder's claim, and is void otherwise. The order of the log decides between processes.
 * - `machine-bridge.ingest-receipts.v1`: `{receipts: [{key, topic, partition, offset, digest}, …]}`, written by the
 *   holder in the transaction of the records. The receipt of a request without an id has `isUnclaimed`, and is
 *   remembered while that request is under way.
 *
 * Both are written to one partition, without keys. Neither has tombstones: retention removes both after two days.
 */
export class RequestLog {
  readonly claimsTopic: string;
  readonly receiptsTopic: string;
  link: { state: FollowState; problem: string | null } = { state: 'restoring', problem: null };
  /** All records at the start have been read: an unknown id is new. */
  isRestored = false;
  forgottenEarly = 0;
  private readonly logger = new Logger('RequestLog');
  private readonly requests: RequestTable;
  /** Next offset of each partition of the receipts. */
  private readonly positions = new Map<number, number>();
  /** Waiters for records: of a request by its key, of claims by their nonce, of positions by POSITIONS. */
  private readonly waiters = new Map<string, Set<() => void>>();
  private readonly producer: IdempotentProducer;
  private sending: Promise<unknown> = Promise.resolve();
  private following: Promise<void> = Promise.resolve();
  private claimCount = 0;

  constructor(
    private readonly kafka: KafkaClient,
    private readonly settings: IngestSettings['kafka'],
    private readonly signal: AbortSignal,
    private readonly isUnderWay: (key: string) => boolean,
  ) {
    this.claimsTopic = settings.topicPrefix + INTERNAL_TOPICS.ingestClaims;
    this.receiptsTopic = settings.topicPrefix + INTERNAL_TOPICS.ingestReceipts;
    this.producer = new IdempotentProducer(kafka);
    const topics = INPUT_TOPICS.map((topic) => settings.topicPrefix + topic);
    this.requests = new RequestTable(MAX_REMEMBERED, topics);
  }

  get size(): number {
    return this.requests.size;
  }

  /** Creates the topics, retrying until Kafka answers. @throws MissingTopicsError when they may not be created */
  async prepareTopics(): Promise<void> {
    const { createTopics: create, topicPartitions: partitions, topicPrefix } = this.settings;
    const topics = [
      ...INPUT_TOPICS.map((name) => ({
        name: topicPrefix + name,
        cleanupPolicy: 'delete' as const,
      })),
      ...[this.claimsTopic, this.receiptsTopic].map((name) => ({
        ...{ name, cleanupPolicy: 'delete' as const, retentionMs: RETENTION_MS, partitions: 1 },
      })),
    ];
    while (!this.signal.aborted) {
      try {
        await ensureTopics(this.kafka, topics, { create, partitions });
        return;
      } catch (error) {
        if (error instanceof MissingTopicsError) throw error;
        this.setLink('down', describeKafkaFailure(error));
        await realDelayMs(TRY_AGAIN_AFTER_MS, this.signal).catch(() => undefined);
      }
    }
  }

  startFollowing(): void {
    const from = { sinceMs: realEpochMs() - DAY_MS, maxPerPartition: MAX_OFFSETS };
    const topics = [this.claimsTopic, this.receiptsTopic].map((topic) => ({ topic, from }));
    const stopForgetting = everyRealMs(FORGET_EVERY_MS, () => {
      this.requests.forgetUntil(realEpochMs() - DAY_MS);
    });
    this.following = followTopics(this.kafka, topics, {
      signal: this.signal,
      onRecords: (records) => {
        for (const record of records) this.applyOrSkip(record);
      },
      onState: (state, problem) => {
        if (state === 'up') this.isRestored = true;
        this.setLink(state, problem);
      },
      onPosition: (topic, partition, next) => {
        if (topic !== this.receiptsTopic) return;
        this.positions.set(partition, next);
        this.notifyWaiters(POSITIONS);
      },
    }).finally(stopForgetting);
  }

  async stopFollowing(): Promise<void> {
    await this.producer.closeProducer();
    await this.following;
  }

  receiptOf(key: string): Receipt | undefined {
    return this.rememberedNow(key)?.receipt;
  }

  /** Remembers a committed receipt before it is read back. */
  noteReceipt(key: string, receipt: Receipt): void {
    if (receipt.isUnclaimed !== true) this.remember(key, { timestampMs: realEpochMs(), receipt });
  }

  holderOf(key: string): Claim | undefined {
    return this.rememberedNow(key)?.claim;
  }

  /** Resolves with the next record of that key, or after `withinMs` of real time. */
  waitForChange(key: string, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.waiters.get(key) ?? new Set();
      const done = (): void => {
        stopWaiting();
        waiting.delete(done);
        if (waiting.size === 0 && this.waiters.get(key) === waiting) this.waiters.delete(key);
        resolve();
      };
      const stopWaiting = afterRealMs(withinMs, done);
      this.waiters.set(key, waiting.add(done));
    });
  }

  /**
   * Writes claims in one record. Resolves once it has been read back, so that {@link holderOf} knows the result, or
   * after `withinMs` of real time; the claims may still be written then, and hold.
   */
  writeClaims(claims: readonly NewClaim[], by: Holder, withinMs: number): Promise<void> {
    const nonce = `${by.incarnation}:${(this.claimCount += 1)}`;
    const value = JSON.stringify({
      ...{ ...by, nonce },
      claims: claims.map(({ key, replaces }) => [key, replaces?.offset ?? null]),
    } satisfies ClaimsRecord);
    const record = { topic: this.claimsTopic, partition: PARTITION, key: null, value, headers: {} };
    const isRead = this.waitForChange(nonce, withinMs);
    const send = async (): Promise<void> => {
      if (!this.waiters.has(nonce)) return;
      const refused = await this.producer.sendRecords([record]);
      for (const [{ topic }, err] of refused)
        this.logger.error({ msg: 'claim refused', topic, err });
    };
    // rejects once the producer is closed, when nobody waits any more
    this.sending = this.sending.then(send).catch(() => undefined);
    return isRead;
  }

  /** The record of receipts, to be written in the transaction of their records. */
  readonly receiptsRecord = (receipts: readonly KeyedReceipt[]): OutboundRecord => {
    const value = JSON.stringify({ receipts });
    return { topic: this.receiptsTopic, partition: PARTITION, key: null, value, headers: {} };
  };

  /**
   * Resolves once all present receipts have been read, including those behind another process's open transaction: they
   * may be committed, but cannot be read before that transaction ends.
   *
   * @throws Kafka's failure to answer, and an Error after `withinMs` of real time
   */
  async catchUp(withinMs: number): Promise<void> {
    const untilMs = realNowMs() + withinMs;
    const spans = await uncommittedSpans(this.kafka, this.receiptsTopic);
    const isBehind = (): boolean =>
      spans.some(({ partition, until }) => (this.positions.get(partition) ?? 0) < until);
    while (isBehind()) {
      const leftMs = untilMs - realNowMs();
      if (leftMs <= 0) throw new Error('receipts are not read in time');
      await this.waitForChange(POSITIONS, leftMs);
    }
  }

  /** A record of another program must not stop those behind it. */
  private applyOrSkip(record: StoredRecord): void {
    try {
      this.applyRecord(record);
    } catch (err) {
      const { topic, partition, offset } = record;
      this.logger.error({ msg: 'a record is passed over', topic, partition, offset, err });
    }
  }

  private applyRecord({ topic, offset, value, timestamp }: StoredRecord): void {
    const json = value === null ? undefined : readJson(value);
    if (json?.ok !== true || !isJsonObject(json.value)) return;
    const timestampMs = Number(timestamp);
    if (topic === this.receiptsTopic) {
      const { receipts } = json.value as unknown as { receipts: KeyedReceipt[] };
      for (const { key, ...receipt } of receipts) this.applyReceipt(key, receipt, timestampMs);
    } else {
      const { claims, nonce, ...by } = json.value as unknown as ClaimsRecord;
      for (const [key, after] of claims)
        this.applyClaim(key, { ...by, offset }, after, timestampMs);
      this.notifyWaiters(nonce);
    }
  }

  private applyReceipt(key: string, receipt: Receipt, timestampMs: number): void {
    if (receipt.isUnclaimed === true && !this.isUnderWay(key)) return;
    const before = this.rememberedAt(key, timestampMs);
    this.remember(key, { timestampMs, receipt: before?.receipt ?? receipt });
    this.notifyWaiters(key);
  }

  private applyClaim(key: string, claim: Claim, after: number | null, timestampMs: number): void {
    const before = this.rememberedAt(key, timestampMs);
    if (after === (before?.claim?.offset ?? null) && before?.receipt === undefined) {
      this.remember(key, { timestampMs, claim });
    }
    this.notifyWaiters(key);
  }

  /** The request as known when a record was written, by the records' time stamps, so that all processes agree. */
  private rememberedAt(key: string, timestampMs: number): Remembered | undefined {
    const before = this.requests.get(key);
    if (before === undefined || isWithinDay(before, timestampMs)) return before;
    this.requests.delete(key);
    return undefined;
  }

  private notifyWaiters(key: string): void {
    for (const done of [...(this.waiters.get(key) ?? [])]) done();
  }

  private rememberedNow(key: string): Remembered | undefined {
    const request = this.requests.get(key);
    return request !== undefined && isWithinDay(request, realEpochMs()) ? request : undefined;
  }

  private remember(key: string, known: Remembered): void {
    const forgotten = this.requests.set(key, known);
    if (forgotten === undefined || !isWithinDay(forgotten, realEpochMs())) return;
    if (this.forgottenEarly === 0) {
      this.logger.warn({
        msg: 'ids are forgotten before a day is over',
        remembered: MAX_REMEMBERED,
      });
    }
    this.forgottenEarly += 1;
  }

  private setLink(state: FollowState, problem: string | null): void {
    if (state === this.link.state && problem === this.link.problem) return;
    const isNew = state !== this.link.state;
    this.link = { state, problem };
    if (isNew && state === 'down') this.logger.warn({ msg: 'Kafka is away', error: problem });
    if (isNew && state === 'up') this.logger.log({ msg: 'Kafka is there', remembered: this.size });
  }
}

/** No hash or nonce is equal to it. */
const POSITIONS = 'positions';

function isWithinDay({ timestampMs }: Remembered, nowMs: number): boolean {
  return timestampMs > nowMs - DAY_MS;
}
