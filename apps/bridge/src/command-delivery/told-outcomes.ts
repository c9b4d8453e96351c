import { Inject, Injectable, Logger } from '@nestjs/common';
import { afterRealMs, realDelayMs } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type OutcomeSource, TOPICS } from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import { type KafkaClient, readSince, type StoredRecord, type TakenOver } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';
import { finalOutcomeOf } from './final-outcome.js';

type Source = Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>;

/** Commits are half a second apart: this is as much as can be told between two of them. */
const MAX_PER_PARTITION = 20_000;
const DEADLINE_MS = 30_000;
const BACK_OFF = { baseMs: 100, capMs: 1000 };

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
  /** By topic and partition of the message. */
  private readonly told = new Map<string, Set<string>>();

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    ({ topicPrefix: this.topicPrefix, groupId: this.groupId } = settings.kafka);
    this.orders = `${this.topicPrefix}${TOPICS.workOrders}`;
  }

  /** Reads what was told since the last commits of partitions that have come here. Never rejects. */
  async recall(partitions: readonly TakenOver[], stopping: AbortSignal): Promise<void> {
    for (const partition of partitions) this.told.delete(keyOf(partition));
    this.forgetOrders();
    const since = partitions.flatMap(({ toldUntilMs: ms }) => (ms === undefined ? [] : [ms]));
    if (since.length === 0) return;
    const tooLong = new AbortController();
    const stopTimer = afterRealMs(DEADLINE_MS, () => {
      tooLong.abort(new Error(`not read in ${DEADLINE_MS / 1000} s`));
    });
    const signal = AbortSignal.any([stopping, tooLong.signal]);
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      if (await this.hasRead(Math.min(...since), partitions, signal)) break;
      await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
    }
    stopTimer();
  }

  /** Returns whether all was read. */
  private async hasRead(
    sinceMs: number,
    partitions: readonly TakenOver[],
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      await this.read(sinceMs, partitions, signal);
      signal.throwIfAborted();
      return true;
    } catch (error) {
      const msg = signal.aborted ? NOT_ALL_KNOWN : 'what was told before is not known yet';
      this.logger.warn({ msg, error: String(error) });
      return false;
    }
  }

  /** Whether this was told; asked right before it would be told again, and no longer remembered then. */
  take(source: Source, machineId: string | null): boolean {
    // Asked for every message: most of the time there is nothing to compare with.
    if (this.told.size === 0) return false;
    const told = this.told.get(keyOf(source));
    if (told === undefined) return false;
    const wasTold = told.delete(entryOf(source.offset, machineId));
    if (told.size === 0) this.told.delete(keyOf(source));
    return wasTold;
  }

  /** Which of them come again is not known, so what is left of them must not stay: told again, it would be the same. */
  private forgetOrders(): void {
    for (const key of this.told.keys())
      if (key.startsWith(`${this.orders}/`)) this.told.delete(key);
  }

  private async read(
    sinceMs: number,
    partitions: readonly TakenOver[],
    signal: AbortSignal,
  ): Promise<void> {
    let count = 0;
    const topic = `${this.topicPrefix}${TOPICS.commandOutcomes}`;
    const latest = { topic, sinceMs, maxPerPartition: MAX_PER_PARTITION };
    await readSince(this.kafka, latest, {
      groupIdPrefix: this.groupId,
      signal,
      onRecords: (records) => {
        for (const record of records) count += this.note(record, partitions);
      },
    });
    if (count > 0) this.logger.log({ msg: 'told by an earlier owner, not told again', count });
  }

  /** Returns how many it has noted. */
  private note(record: StoredRecord, partitions: readonly TakenOver[]): 0 | 1 {
    const outcome = finalOutcomeOf(record);
    if (outcome === undefined) return 0;
    const { source, machineId } = outcome;
    if (!this.isOpen(source, Number(record.timestamp), partitions)) return 0;
    const key = keyOf(source);
    const told = this.told.get(key) ?? new Set();
    this.told.set(key, told.add(entryOf(source.offset, machineId)));
    return 1;
  }

  /** Whether the message that was answered is delivered again for no other reason than a lost commit. */
  private isOpen(source: Source, toldMs: number, partitions: readonly TakenOver[]): boolean {
    // What an order leads to is done in another partition than the one the order came through.
    if (source.topic === this.orders) return true;
    const own = partitions.find((partition) => keyOf(partition) === keyOf(source));
    if (own?.toldUntilMs === undefined) return false;
    return toldMs >= own.toldUntilMs && !own.isFinished(source.offset);
  }
}

function keyOf({ topic, partition }: Omit<Source, 'offset'>): string {
  return `${topic}/${partition}`;
}

function entryOf(offset: number, machineId: string | null): string {
  return JSON.stringify([offset, machineId]);
}
