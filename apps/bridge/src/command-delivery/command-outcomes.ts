import { Injectable, Logger } from '@nestjs/common';
import { type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandWaiter } from './command.js';
import { type CommandResult } from './command-result.js';
import { MessageAnswers, type Publish } from './message-answers.js';
import { type OutcomeTotal } from './outcome-counts.js';
import { type CommandFamily, type Outcome, toOutcome } from './outcome-data.js';
import { outcomePerMachine } from './outcome-per-machine.js';
import { OutcomePublisher } from './outcome-publisher.js';
import { type RecentOutcome } from './recent-outcomes.js';

/** What flows have to do with outcomes: answering messages, and looking up what was answered. */
@Injectable()
export class CommandOutcomes {
  private readonly logger = new Logger('CommandOutcomes');
  /** One of each family, rather than of each message. */
  private readonly publishers: Readonly<Record<CommandFamily, Publish>>;

  constructor(private readonly publisher: OutcomePublisher) {
    this.publishers = {
      'work-order-list': this.publisherOf('work-order-list'),
      'downtime-reason': this.publisherOf('downtime-reason'),
    };
  }

  /** All outcomes since the start, by what they say. */
  totals(): OutcomeTotal[] {
    return this.publisher.counts.totals();
  }

  /** The latest outcomes of a machine, newest first. */
  recentOf(machineId: string): readonly RecentOutcome[] {
    return this.publisher.recent.of(machineId);
  }

  /** The answers to a message of which `open` commands are still to be settled and some things may be known. */
  answersTo(
    family: CommandFamily,
    answered: AnsweredMessage,
    open: number,
    known: readonly CommandResult[],
  ): MessageAnswers {
    return new MessageAnswers(answered, open, known, this.publishers[family]);
  }

  /** Says once that a message waits for the service; never final, and nobody waits for it to get out. */
  publishDeferred(family: CommandFamily, waiter: CommandWaiter): void {
    const { machineId, answers } = waiter;
    this.publisher.publishDeferred(family, answers.answered, waiter, {
      acknowledged: () => undefined,
      refused: (error) => {
        this.logger.warn({ msg: 'deferral not told', machineId, error: String(error) });
      },
    });
  }

  /**
   * An outcome for the caller to write in a transaction of its own; {@link noteWritten} when that is done.
   * Undefined where one was told before.
   */
  toRecord(
    family: CommandFamily,
    answered: AnsweredMessage,
    result: CommandResult,
  ): OutboundRecord | undefined {
    const { records } = this.publisher;
    const source = records.sourceOf(answered);
    if (this.publisher.wasTold(source, result.machineId)) return undefined;
    const outcome = toOutcome(result, source);
    return records.of(family, answered.message, result.kind, outcome);
  }

  noteWritten(family: CommandFamily, outcome: Exclude<Outcome, 'rejected'>): void {
    this.publisher.counts.add(family, outcome, null);
  }

  /** Where the message that is answered stands, under its topic's full name. */
  sourceOf(answered: AnsweredMessage): OutcomeSource {
    return this.publisher.records.sourceOf(answered);
  }

  private publisherOf(family: CommandFamily): Publish {
    return (answered, results, receipt) => {
      this.publisher.publish(family, answered, outcomePerMachine(results), receipt);
    };
  }
}
