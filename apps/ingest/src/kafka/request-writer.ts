import { createHash, randomInt, randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { everyRealMs, realDelayMs, realNowMs, withDeadline } from '#libs/clock';
import type { IngestSettings } from '#libs/config';
import { INPUT_TOPICS, type InputTopic, MAX_BODY_BYTES } from '#libs/contracts';
import { ApiError } from '#libs/http-api';
import {
  describeKafkaFailure,
  type KafkaClient,
  type OutboundRecord,
  partitionCount,
  partitionOf,
  type RecordPlace,
  RecordRefusedError,
  TransactionalWriter,
} from '#libs/kafka';
import { KAFKA, INGEST_SETTINGS } from '../platform/tokens.js';
import {
  NotBegunError,
  NotClaimedError,
  ReceiptedWriter,
  WriterLostError,
} from './receipted-writer.js';
import { RequestLog } from './request-log.js';
import type { Holder, Receipt } from './request-table.js';

export interface Submission {
  topic: InputTopic;
  key: string | null;
  value: Buffer;
  /** Compared with that of the first message of the id: the value, or its compact JSON. */
  compact: Buffer;
  headers: (readonly [name: string, value: string])[];
  /** The sender's id, and the scope in which it is unique; undefined if none was sent. */
  id: { scope: string; value: string } | undefined;
  /** Time after which the sender gets a 503. */
  answerWithinMs: number;
}

export interface Submitted {
  place: RecordPlace;
  /** Whether the record was written before, under the same id. */
  isRepeated: boolean;
}

/** A record that is not begun within this time is not written. */
const WRITE_WITHIN_MS = 5000;
/**
 * Time in which a live process has written even if each request to Kafka takes half a second. With less, two processes
 * fence each other before either is done, and never write.
 */
const PATIENCE_WITH_HOLDER_MS = 3000;
const CATCH_UP_WITHIN_MS = 4000;
const RETRY_AFTER_SECONDS = 2;
/** Requests; more of them mean that Kafka accepts less than is sent. */
const MAX_WAITING = 2000;
const MAX_PENDING_BYTES = 128 * MAX_BODY_BYTES;
const MAX_FENCED = 1000;
const OPEN_AGAIN_AFTER_MS = 500;
const COUNT_AGAIN_AFTER_MS = 500;
const PARTITIONS_AGAIN_EVERY_MS = 60_000;
const DRAIN_MS = 6000;

/**
 * Writes each submission once. One with an id is claimed first, see {@link RequestLog}; the holder writes record and
 * receipt in one transaction. A failed or dead incarnation is fenced before another one claims the same request: from
 * then on its receipt exists or never will. docs/decisions/0047-ingest.md has the cases.
 */
@Injectable()
export class RequestWriter implements OnApplicationShutdown {
  readonly log: RequestLog;
  /** Records written since the start, and requests answered with an earlier record's place. */
  readonly counts = { written: 0, repeated: 0 };
  /** Unanswered requests. */
  waitingCount = 0;
  private readonly logger = new Logger('Submissions');
  private readonly stopping = new AbortController();
  private readonly transactionalId: string;
  readonly prefix: string;
  private readonly partitions = new Map<string, number>();
  /** Why the last transaction of a pending request failed, by the request's key. */
  private readonly failures = new Map<string, string>();
  private readonly pendingReceipts = new Map<string, Promise<Receipt>>();
  /** Of pending records, whether or not a sender still waits. */
  private pendingBytes = 0;
  /** Fenced incarnations whose receipts have all been read; by their id and the present writer's. */
  private readonly fenced = new Map<string, Promise<void>>();
  private writer: ReceiptedWriter | undefined;
  /** Writers lost since a record was written. While Kafka refuses its time, each record loses one. */
  private lostInARow = 0;
  private opening: Promise<ReceiptedWriter> | undefined;
  private stopCounting = (): void => undefined;

  constructor(
    @Inject(INGEST_SETTINGS) { kafka: settings, instance }: IngestSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    this.prefix = settings.topicPrefix;
    this.transactionalId = `${settings.groupId}-ingest-${instance}`;
    this.log = new RequestLog(kafka, settings, this.stopping.signal, (key) =>
      this.pendingReceipts.has(key),
    );
  }

  /** Retries until Kafka answers. @throws MissingTopicsError when topics are missing and may not be created */
  async startWriting(): Promise<void> {
    await this.log.prepareTopics();
    if (this.isStopping()) return;
    // an open transaction of an earlier process of this name would keep receipts from being read
    await this.currentWriter().catch(() => undefined);
    if (this.isStopping()) return;
    this.log.startFollowing();
    while (this.partitions.size < INPUT_TOPICS.length && !this.isStopping()) {
      await this.countPartitions();
      if (this.partitions.size < INPUT_TOPICS.length) await realDelayMs(COUNT_AGAIN_AFTER_MS);
    }
    this.stopCounting = everyRealMs(PARTITIONS_AGAIN_EVERY_MS, () => void this.countPartitions());
  }

  async onApplicationShutdown(): Promise<void> {
    // all requests are answered; their records may still be pending
    await withDeadline(this.writer?.drainPending(), DRAIN_MS);
    this.stopping.abort(new Error('ingest is stopping'));
    this.stopCounting();
    await this.opening?.catch(() => undefined);
    await Promise.all([this.writer?.stopWriting(), this.log.stopFollowing()]);
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Why requests are not accepted; undefined while they are. */
  get intakeProblem(): { code: string; message: string } | undefined {
    const { isRestored, link } = this.log;
    if (this.isStopping()) return { code: 'stopping', message: 'ingest is stopping' };
    if (link.state === 'down') {
      return { code: 'kafka-away', message: link.problem ?? 'Kafka does not answer' };
    }
    if (!isRestored || this.partitions.size < INPUT_TOPICS.length) {
      return { code: 'restoring', message: 'what was written before is still being read' };
    }
    return undefined;
  }

  /** @throws ApiError 503 while requests are not accepted */
  assertAccepting(): void {
    const { intakeProblem } = this;
    if (intakeProblem !== undefined) throw unavailable(intakeProblem.code, intakeProblem.message);
    const count = Math.max(this.waitingCount, this.pendingReceipts.size);
    if (count >= MAX_WAITING || this.pendingBytes >= MAX_PENDING_BYTES) {
      throw unavailable('busy', 'Kafka takes less than is sent');
    }
  }

  /**
   * Compares with the record of the id; one that is being written is compared by `submitRequest`.
   *
   * @throws ApiError 422 if the id was used for another body
   */
  assertNotReused(submission: Submission): void {
    const { id } = submission;
    const receipt = id && this.log.receiptOf(keyOf(id));
    if (receipt !== undefined) assertSameBody(receipt, submission);
  }

  /**
   * Resolves once Kafka has stored the record.
   *
   * @throws ApiError 503 when Kafka does not answer in time, 422 if the id was used for another body, 413 if Kafka will
   * not accept the record
   */
  async submitRequest(submission: Submission): Promise<Submitted> {
    this.waitingCount += 1;
    try {
      return await this.awaitReceipt(submission);
    } finally {
      this.waitingCount -= 1;
    }
  }

  private async awaitReceipt(submission: Submission): Promise<Submitted> {
    const { id, topic, compact, answerWithinMs } = submission;
    const digest = hashOf(topic, compact);
    const key = id === undefined ? hashOf(randomUUID()) : keyOf(id);
    const before = this.log.receiptOf(key) ?? this.pendingReceipts.get(key);
    const lateError = (): ApiError => this.late(key);
    const written =
      before === undefined
        ? await inTime(this.beginWrite(key, submission, digest), answerWithinMs, lateError)
        : {
            receipt: await inTime(Promise.resolve(before), answerWithinMs, lateError),
            isRepeated: true,
          };
    const { receipt, isRepeated } = written;
    assertSameBody(receipt, submission);
    this.counts[isRepeated ? 'repeated' : 'written'] += 1;
    return {
      place: { topic: receipt.topic, partition: receipt.partition, offset: receipt.offset },
      isRepeated,
    };
  }

  /** Writes the record even if the sender stops waiting; a repeated request waits for the same write. */
  private beginWrite(key: string, submission: Submission, digest: string): Promise<Written> {
    const writing = this.writeUntilReceipt(key, submission, digest);
    const receipt = writing.then((written) => written.receipt);
    const { value, compact } = submission;
    const bytes = value.length + (compact === value ? 0 : compact.length);
    this.pendingReceipts.set(key, receipt);
    this.pendingBytes += bytes;
    const settled = (): void => {
      this.pendingReceipts.delete(key);
      this.failures.delete(key);
      this.pendingBytes -= bytes;
    };
    receipt.then(settled, settled);
    return writing;
  }

  private async writeUntilReceipt(
    key: string,
    submission: Submission,
    digest: string,
  ): Promise<Written> {
    const expiresMs = realNowMs() + WRITE_WITHIN_MS;
    const isClaimed = submission.id !== undefined;
    const { transactionalId } = this;
    const record = this.recordOf(submission);
    const attempt = { record, key, digest, expiresMs, isAlone: false, wasAborted: false };
    let unclaimedHolder: Holder | undefined;
    while (realNowMs() < expiresMs) {
      const receipt = this.log.receiptOf(key);
      if (receipt !== undefined) return { receipt, isRepeated: isClaimed };
      const writer = await this.currentWriter();
      const { incarnation } = writer;
      const claim = isClaimed ? this.log.holderOf(key) : undefined;
      const holder = claim ?? unclaimedHolder;
      if (holder !== undefined && holder.incarnation !== incarnation) {
        if (await this.hasHolderChanged(key, holder)) continue;
        await this.fenceAndCatchUp(holder, incarnation);
        if (this.log.receiptOf(key) !== undefined) continue;
      }
      if (!isClaimed) unclaimedHolder = { transactionalId, incarnation };
      try {
        const receipt = await writer.writeReceipted({
          ...attempt,
          replaces: isClaimed ? claim : 'none',
        });
        this.log.noteReceipt(key, receipt);
        this.lostInARow = 0;
        return { receipt, isRepeated: false };
      } catch (error) {
        if (error instanceof WriterLostError) {
          attempt.isAlone ||= error.hasRefusedRecord;
          // the refused record may be another one
          if (!error.hasRefusedRecord) this.failures.set(key, error.message);
        } else if (error instanceof NotClaimedError) attempt.wasAborted = true;
        else if (error instanceof NotBegunError && this.failures.has(key)) break;
        else throw error;
      }
    }
    throw this.late(key);
  }

  /** Kafka has not stored the record in time, and may have said why, as for a missing right. */
  private late(key: string): ApiError {
    const why = this.failures.get(key) ?? 'Kafka has not answered in time';
    return unavailable('kafka-away', why);
  }

  /** Waits for another process that may be about to write; an earlier incarnation of this one writes no more. */
  private async hasHolderChanged(key: string, holder: Holder): Promise<boolean> {
    const { transactionalId, incarnation } = holder;
    if (transactionalId === this.transactionalId) return false;
    const untilMs = realNowMs() + PATIENCE_WITH_HOLDER_MS;
    // void claims are read meanwhile, too
    for (let leftMs = PATIENCE_WITH_HOLDER_MS; leftMs > 0; leftMs = untilMs - realNowMs()) {
      await this.log.waitForChange(key, leftMs);
      if (this.log.receiptOf(key) !== undefined) return true;
      if (this.log.holderOf(key)?.incarnation !== incarnation) return true;
    }
    return false;
  }

  /** Fences an incarnation, unless opening the present writer already has, and reads what it may have committed. */
  private fenceAndCatchUp(
    { transactionalId, incarnation }: Holder,
    present: string,
  ): Promise<void> {
    const name = `${incarnation} ${present}`;
    const before = this.fenced.get(name);
    if (before !== undefined) return before;
    const fencing = this.fenceOff(transactionalId).then(() => this.log.catchUp(CATCH_UP_WITHIN_MS));
    this.fenced.set(name, fencing);
    const [oldest] = this.fenced.keys();
    if (this.fenced.size > MAX_FENCED && oldest !== undefined) this.fenced.delete(oldest);
    fencing.catch(() => this.fenced.delete(name));
    return fencing;
  }

  private async fenceOff(transactionalId: string): Promise<void> {
    if (transactionalId === this.transactionalId) return;
    this.logger.warn({ msg: 'another process left a request open and is fenced', transactionalId });
    const fence = new TransactionalWriter(this.kafka, transactionalId);
    try {
      await fence.fenceEarlierWriters();
    } finally {
      await fence.closeWriter();
    }
  }

  private recordOf({ topic, key, value, headers }: Submission): OutboundRecord & { value: Buffer } {
    const count = this.partitions.get(topic) ?? 1;
    const partition = key === null ? randomInt(count) : partitionOf(key, count);
    return { topic: this.prefix + topic, key, value, headers, partition };
  }

  private async currentWriter(): Promise<ReceiptedWriter> {
    if (this.writer !== undefined && this.writer.lost === undefined) return this.writer;
    this.opening ??= this.openWriter().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  private async openWriter(): Promise<ReceiptedWriter> {
    const former = this.writer;
    this.writer = undefined;
    if (former !== undefined) {
      const error = former.lost?.message;
      this.logger.warn({ msg: 'the writer is lost and opened again', error });
      await former.stopWriting();
      if (former.lost?.hasRefusedRecord !== true) {
        const ceilingMs = Math.min(OPEN_AGAIN_AFTER_MS, 25 * 2 ** this.lostInARow++);
        // at random: two processes may have fenced each other
        await realDelayMs(Math.random() * ceilingMs, this.stopping.signal);
      }
    }
    const writer = new ReceiptedWriter(this.kafka, this.transactionalId, this.log);
    try {
      await writer.fenceEarlierIncarnations();
    } catch (error) {
      const message = describeKafkaFailure(error, { right: 'Write' });
      this.logger.warn({ msg: 'the writer cannot be opened', error: message });
      await realDelayMs(OPEN_AGAIN_AFTER_MS, this.stopping.signal);
      throw unavailable('kafka-away', message);
    }
    this.writer = writer;
    return writer;
  }

  private async countPartitions(): Promise<void> {
    for (const topic of INPUT_TOPICS) {
      const count = await partitionCount(this.kafka, this.prefix + topic).catch(() => undefined);
      if (count !== undefined) this.partitions.set(topic, count);
    }
  }
}

interface Written {
  receipt: Receipt;
  isRepeated: boolean;
}

function keyOf({ scope, value }: NonNullable<Submission['id']>): string {
  return hashOf(scope, value);
}

/** @throws ApiError 422 */
function assertSameBody({ digest }: Receipt, { topic, value, compact }: Submission): void {
  // Earlier builds hashed the value.
  if (digest === hashOf(topic, compact) || digest === hashOf(topic, value)) return;
  const message = 'another body was sent with this id before: a new record needs an id of its own';
  throw new ApiError(422, 'id-reused', message);
}

/** Hash of texts and bytes, each preceded by its length, so that different lists have different input. */
function hashOf(...parts: (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest().subarray(0, 18).toString('base64url');
}

async function inTime<T>(work: Promise<T>, withinMs: number, late: () => ApiError): Promise<T> {
  if (!(await withDeadline(work, withinMs))) throw late();
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof RecordRefusedError) throw new ApiError(413, 'too-large', error.message);
    if (error instanceof NotBegunError) throw unavailable('busy', error.message);
    throw unavailable('kafka-away', describeKafkaFailure(error));
  }
}

function unavailable(code: string, message: string): ApiError {
  return new ApiError(503, code, message, RETRY_AFTER_SECONDS);
}
