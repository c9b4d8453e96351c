import { Inject, Injectable, Logger } from '@nestjs/common';
import { type Metric } from 'prom-client';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type CommandOutcome, type OutcomeSource } from '#libs/contracts';
import { DeadLetters, type InboundMessage, type OutboundRecord, Outbox } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandWaiter } from './command.js';
import { type CommandResult, type RejectedResult } from './command-result.js';
import {
  type CommandFamily,
  FLOW_OF,
  type Outcome,
  toDeferral,
  toOutcome,
} from './outcome-data.js';
import { MessageAnswers } from './message-answers.js';
import { outcomePerMachine } from './outcome-per-machine.js';
import { OutcomeHistory } from './outcome-history.js';
import { OutcomeRecords } from './outcome-records.js';
import { outcomesCounter } from './outcomes-counter.js';
import { RejectedMessages } from './rejected-messages.js';
import { ToldOutcomes } from './told-outcomes.js';

/** Tells what became of input messages: an outcome per machine, a dead letter per message at fault. */
@Injectable()
export class CommandOutcomes {
  private readonly counter = outcomesCounter();
  private readonly logger = new Logger('CommandOutcomes');
  private readonly history = new OutcomeHistory();
  private readonly rejected: RejectedMessages;
  private readonly records: OutcomeRecords;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    clock: Clock,
    private readonly outbox: Outbox,
    deadLetters: DeadLetters,
    private readonly told: ToldOutcomes,
  ) {
    this.records = new OutcomeRecords(settings.kafka.topicPrefix, clock);
    this.rejected = new RejectedMessages(deadLetters);
  }

  get metrics(): Metric[] {
    return [this.counter];
  }

  /** The latest outcomes of a machine, newest first. */
  recentOf(machineId: string): readonly CommandOutcome[] {
    return this.history.of(machineId);
  }

  /** The answers to a message of which `open` commands are still to be settled and some things may be known. */
  answersTo(
    family: CommandFamily,
    answered: AnsweredMessage,
    open: number,
    known: readonly CommandResult[],
  ): MessageAnswers {
    return new MessageAnswers(answered, open, known, (results) =>
      this.publish(family, answered, outcomePerMachine(results)),
    );
  }

  /** Resolves once Kafka has acknowledged all of it; only then may the message's offset move. */
  async publish(
    family: CommandFamily,
    answered: AnsweredMessage,
    results: readonly CommandResult[],
  ): Promise<void> {
    const source = this.sourceOf(answered);
    const [only] = results;
    if (only !== undefined && results.length === 1 && only.kind !== 'rejected') {
      await this.tell(family, answered, source, only);
      return;
    }
    const faults = results.filter((result) => result.kind === 'rejected');
    await Promise.all([
      ...results
        .filter(({ kind }) => kind !== 'rejected')
        .map((result) => this.tell(family, answered, source, result)),
      this.reject(family, answered, source, faults, results.length > 1),
    ]);
  }

  private tell(
    family: CommandFamily,
    answered: AnsweredMessage,
    source: OutcomeSource,
    result: CommandResult,
  ): Promise<void> {
    if (this.told.take(source, result.machineId)) return Promise.resolve();
    return this.send(family, answered.message, result.kind, toOutcome(result, source));
  }

  /** A rejection is told once the dead letter is there: whoever finds it told need not write another one. */
  private async reject(
    family: CommandFamily,
    answered: AnsweredMessage,
    source: OutcomeSource,
    faults: readonly RejectedResult[],
    hasOthers: boolean,
  ): Promise<void> {
    const untold = faults.filter(({ machineId }) => !this.told.take(source, machineId));
    if (untold.length === 0) return;
    await this.rejected.setAside(source, answered, untold, hasOthers);
    const { message } = answered;
    await Promise.all(
      untold.map((result) => this.send(family, message, result.kind, toOutcome(result, source))),
    );
  }

  /** Says once that a message waits for the service; never final, and nobody waits for it to get out. */
  publishDeferred(family: CommandFamily, { machineId, calls, answers }: CommandWaiter): void {
    const { answered } = answers;
    const outcome = toDeferral(machineId, this.sourceOf(answered), calls);
    this.send(family, answered.message, 'deferred', outcome).catch((error: unknown) => {
      this.logger.warn({ msg: 'deferral not told', machineId, error: String(error) });
    });
  }

  private send(
    family: CommandFamily,
    message: InboundMessage,
    kind: Outcome,
    outcome: CommandOutcome,
  ): Promise<void> {
    const { machineId, code } = outcome;
    this.counter.inc({ flow: FLOW_OF[family], outcome: kind, code: code ?? '' });
    if (machineId !== null) this.history.add(machineId, outcome);
    return this.outbox.send(this.records.of(family, message, kind, outcome));
  }

  /** An outcome for the caller to write in a transaction of its own; {@link noteWritten} when that is done. */
  toRecord(
    family: CommandFamily,
    answered: AnsweredMessage,
    result: CommandResult,
  ): OutboundRecord {
    const outcome = toOutcome(result, this.sourceOf(answered));
    return this.records.of(family, answered.message, result.kind, outcome);
  }

  noteWritten(family: CommandFamily, outcome: Exclude<Outcome, 'rejected'>): void {
    this.counter.inc({ flow: FLOW_OF[family], outcome, code: '' });
  }

  /** Where the message that is answered stands, under its topic's full name. */
  sourceOf(answered: AnsweredMessage): OutcomeSource {
    return this.records.sourceOf(answered);
  }
}
