import { Inject, Injectable, Logger } from '@nestjs/common';
import { abortable, afterRealMs, realDelayMs } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type OutcomeSource, TOPICS } from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import { type KafkaClient, readSince, type StoredRecord, type TakenOver } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';
import { finalOutcomeOf } from './final-outcome.js';
import { ToldBefore } from './told-before.js';

type Source = Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>;

/** Commits are half a second apart: this is as much as can be told between two of them. */
const MAX_PER_PARTITION = 20_000;
const DEADLINE_MS = 30_000;
const BACK_OFF = { baseMs: 100, capMs: 1000 };

const NOT_YET_KNOWN = 'what was told before is not known yet';
const NOT_ALL_KNOWN =
  'what was told before is not all known: some may be told again, and otherwise';

/**
 * The final outcomes that an earlier owner of a partition has told of messages which it could not commit
 * any more. They are delivered again, and by now another outcome might come of them: the list that was
 * applied is superseded by one that has come since. What has been told is not told again.
 */
@Injectable()
export class ToldOutcomes {
  private readonly logger = new Logger('ToldOutcomes');
  private readonly topicPrefix: string;
  private readonly groupId: string;
  /** The topic of orders, its full name. */
  private readonly orders: string;
  private readonly told = new ToldBefore();

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    ({ topicPrefix: this.topicPrefix, groupId: this.groupId } = settings.kafka);
    this.orders = `${this.topicPrefix}${TOPICS.workOrders}`;
  }

  /**
   * Reads what was told since the last commits of partitions that have come here, for `deadlineMs` at most.
   * Never rejects: the log says what may come of it when not all could be read.
   */
  async recall(
    partitions: readonly TakenOver[],
    stopping: AbortSignal,
    deadlineMs = DEADLINE_MS,
  ): Promise<void> {
    for (const partition of partitions) this.told.forget(partition);
    // Which of them come again is not known, so what is left of them must not stay: told again, it would be the same.
    this.told.forgetTopic(this.orders);
    const open = partitions.filter(({ toldUntilMs }) => toldUntilMs !== undefined);
    if (open.length === 0) return;
    const tooLong = new AbortController();
    const stopTimer = afterRealMs(deadlineMs, () => {
      tooLong.abort(new Error(`not read in ${deadlineMs / 1000} s`));
    });
    const why = await this.tryToRead(open, AbortSignal.any([stopping, tooLong.signal]));
    stopTimer();
    // A bridge that stops tells nothing any more.
    if (why === undefined || stopping.aborted) return;
    const names = open.map(({ topic, partition }) => `${topic}/${partition}`);
    this.logger.warn({ msg: NOT_ALL_KNOWN, partitions: names, error: why });
  }

  /** Whether this was told; asked right before it would be told again, and no longer remembered then. */
  take(source: Source, machineId: string | null): boolean {
    return this.told.take(source, machineId);
  }

  /** Tries until the signal aborts; returns undefined once all is read, else what kept it from that. */
  private async tryToRead(
    partitions: readonly TakenOver[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    let why: string | undefined;
    const isOver = (): boolean => signal.aborted;
    for (let attempt = 1; !isOver(); attempt += 1) {
      try {
        // Where Kafka says nothing, the client would go on asking for much longer.
        await abortable(this.read(partitions, signal), signal);
        return undefined;
      } catch (error) {
        if (isOver()) break;
        why = String(error);
        this.logger.warn({ msg: NOT_YET_KNOWN, error: why });
      }
      await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
    }
    return why ?? String(signal.reason);
  }

  private async read(partitions: readonly TakenOver[], signal: AbortSignal): Promise<void> {
    let count = 0;
    const topic = `${this.topicPrefix}${TOPICS.commandOutcomes}`;
    const since = partitions.flatMap(({ toldUntilMs: ms }) => (ms === undefined ? [] : [ms]));
    const latest = { topic, sinceMs: Math.min(...since), maxPerPartition: MAX_PER_PARTITION };
    await readSince(this.kafka, latest, {
      groupIdPrefix: this.groupId,
      signal,
      onRecords: (records) => {
        for (const record of records) count += this.note(record, partitions);
      },
    });
    signal.throwIfAborted();
    if (count > 0) this.logger.log({ msg: 'told by an earlier owner, not told again', count });
  }

  /** Returns how many it has noted. */
  private note(record: StoredRecord, partitions: readonly TakenOver[]): 0 | 1 {
    const outcome = finalOutcomeOf(record);
    if (outcome === undefined) return 0;
    const { source, machineId } = outcome;
    if (!this.isOpen(source, Number(record.timestamp), partitions)) return 0;
    this.told.add(source, machineId);
    return 1;
  }

  /** Whether the message that was answered is delivered again for no other reason than a lost commit. */
  private isOpen(source: Source, toldMs: number, partitions: readonly TakenOver[]): boolean {
    // What an order leads to is done in another partition than the one the order came through.
    if (source.topic === this.orders) return true;
    const own = partitions.find(
      ({ topic, partition }) => topic === source.topic && partition === source.partition,
    );
    if (own?.toldUntilMs === undefined) return false;
    return toldMs >= own.toldUntilMs && !own.isFinished(source.offset);
  }
}
