import { Inject, Injectable, Logger } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type OutcomeSource, TOPICS } from '#libs/contracts';
import { type KafkaClient, type StoredRecord, type TakenOver } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandResult, type RejectedResult } from './command-result.js';
import { isDeliveredAgain } from './delivered-again.js';
import { finalOutcomeOf } from './final-outcome.js';
import { LettersBefore } from './letters-before.js';
import { readInTime } from './read-in-time.js';
import { readTold } from './read-told.js';
import { ToldBefore } from './told-before.js';
import { writtenLetterOf } from './written-letter.js';

const DEADLINE_MS = 30_000;

const NOT_YET_KNOWN = 'what was told before is not known yet';
const NOT_ALL_KNOWN =
  'what was told before is not all known: some may be told again, and otherwise';
const LETTERS_NOT_READ =
  'dead letters may not be read: some may be written twice when a process has ended without warning';

/**
 * The final outcomes that an earlier owner of a partition has told of messages which it could not commit
 * any more. They are delivered again, and by now another outcome might come of them: the list that was
 * applied is superseded by one that has come since. What has been told is not told again. Likewise the
 * dead letters: one may be there whose outcome was not told any more.
 */
@Injectable()
export class ToldOutcomes {
  private readonly logger = new Logger('ToldOutcomes');
  private readonly settings: BridgeSettings['kafka'];
  /** The topic of orders, its full name. */
  private readonly orders: string;
  private readonly told = new ToldBefore();
  private readonly letters: LettersBefore;
  private hasWarnedOfLetters = false;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    this.settings = settings.kafka;
    this.orders = `${this.settings.topicPrefix}${TOPICS.workOrders}`;
    this.letters = new LettersBefore(this.orders);
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
    for (const memory of [this.told, this.letters]) {
      for (const partition of partitions) memory.forget(partition);
      // Which of them come again is not known, so what is left of them must not stay: told again, it would be the same.
      memory.forgetTopic(this.orders);
    }
    const open = partitions.filter(({ toldUntilMs }) => toldUntilMs !== undefined);
    if (open.length === 0) return;
    const why = await readInTime((signal) => this.read(open, signal), {
      deadlineMs,
      stopping,
      onFailure: (error) => {
        this.logger.warn({ msg: NOT_YET_KNOWN, error });
      },
    });
    // A bridge that stops tells nothing any more.
    if (why === undefined || stopping.aborted) return;
    const names = open.map(({ topic, partition }) => `${topic}/${partition}`);
    this.logger.warn({ msg: NOT_ALL_KNOWN, partitions: names, error: why });
  }

  /**
   * Whether this was told; asked right before it would be told again, and no longer remembered then. But what
   * became of orders is found out by the owners of their partition and of the machines, so that it may come up
   * several times.
   */
  take(source: OutcomeSource, machineId: string | null): boolean {
    if (source.topic === this.orders) return this.told.has(source, machineId);
    return this.told.take(source, machineId);
  }

  /** What is to be told of it: where a letter is there already, what that says. */
  asWritten(source: OutcomeSource, results: readonly CommandResult[]): readonly CommandResult[] {
    return this.letters.asWritten(source, results);
  }

  /** Those of a message's faults that have to be set aside still; asked right before, as {@link take} is. */
  withoutLetter(
    source: OutcomeSource,
    { origin }: AnsweredMessage,
    faults: readonly RejectedResult[],
  ): readonly RejectedResult[] {
    return this.letters.lacking(source, faults, origin !== undefined);
  }

  private async read(partitions: readonly TakenOver[], signal: AbortSignal): Promise<void> {
    let count = 0;
    await readTold(this.kafka, this.settings, partitions, {
      signal,
      onRecords: (records) => {
        for (const record of records) count += this.note(record, partitions);
      },
      onLettersForbidden: (error) => {
        if (!this.hasWarnedOfLetters) {
          this.logger.warn({ msg: LETTERS_NOT_READ, error: String(error) });
        }
        this.hasWarnedOfLetters = true;
      },
    });
    signal.throwIfAborted();
    if (count > 0) this.logger.log({ msg: 'told by an earlier owner, not told again', count });
  }

  /** Returns how many it has noted. */
  private note(record: StoredRecord, partitions: readonly TakenOver[]): 0 | 1 {
    const letter = writtenLetterOf(record);
    const outcome = letter === undefined ? finalOutcomeOf(record) : undefined;
    const source = letter?.source ?? outcome?.source;
    const toldMs = Number(record.timestamp);
    if (!source || !isDeliveredAgain(source, toldMs, partitions, this.orders)) return 0;
    if (letter !== undefined) this.letters.add(letter);
    else if (outcome !== undefined) this.told.add(source, outcome.machineId);
    return 1;
  }
}
