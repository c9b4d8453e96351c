import { Inject, Injectable, Logger } from '@nestjs/common';
import { Counter, type Metric } from 'prom-client';
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
  keyOf,
  type Outcome,
  type OutcomeData,
  outcomeType,
  toData,
} from './outcome-data.js';
import { MessageAnswers } from './message-answers.js';
import { outcomePerMachine } from './outcome-per-machine.js';
import { OutcomeHistory } from './outcome-history.js';
import { outcomeRecord } from './outcome-record.js';
import { RejectedMessages } from './rejected-messages.js';
import { ToldOutcomes } from './told-outcomes.js';

/** Tells what became of input messages: an outcome per machine, a dead letter per message at fault. */
@Injectable()
export class CommandOutcomes {
  private readonly counter = new Counter({
    name: 'machine_bridge_command_outcomes_total',
    help: 'Input messages by machine, by flow and by what became of them',
    labelNames: ['flow', 'outcome', 'code'],
    registers: [],
  });
  private readonly logger = new Logger('CommandOutcomes');
  private readonly history = new OutcomeHistory();
  private readonly rejected: RejectedMessages;
  private readonly topicPrefix: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly outbox: Outbox,
    deadLetters: DeadLetters,
    private readonly told: ToldOutcomes,
  ) {
    this.topicPrefix = settings.kafka.topicPrefix;
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
    const [only] = results;
    if (only !== undefined && results.length === 1 && only.kind !== 'rejected') {
      await this.tell(family, answered, this.sourceOf(answered), only);
      return;
    }
    const source = this.sourceOf(answered);
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
    return this.send(family, answered.message, source, result.kind, toData(result));
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
      untold.map((result) => this.send(family, message, source, result.kind, toData(result))),
    );
  }

  /** Says once that a message waits for the service; never final, and nobody waits for it to get out. */
  publishDeferred(family: CommandFamily, { machineId, calls, answers }: CommandWaiter): void {
    const detail = 'waits for the service to take it';
    const data = { machineId, code: null, detail, attempts: calls, appliedAt: null };
    const { answered } = answers;
    const source = this.sourceOf(answered);
    this.send(family, answered.message, source, 'deferred', data).catch((error: unknown) => {
      this.logger.warn({ msg: 'deferral not told', machineId, error: String(error) });
    });
  }

  private async send(
    family: CommandFamily,
    message: InboundMessage,
    source: OutcomeSource,
    outcome: Outcome,
    answer: OutcomeData,
  ): Promise<void> {
    // Written out: this runs for every message, and spreading objects would cost as much as all the rest.
    const { machineId, code, detail, attempts, appliedAt } = answer;
    const data: CommandOutcome = { machineId, source, code, detail, attempts, appliedAt };
    this.counter.inc({ flow: FLOW_OF[family], outcome, code: code ?? '' });
    if (machineId !== null) this.history.add(machineId, data);
    await this.outbox.send(this.recordOf(family, message, outcome, data));
  }

  /** An outcome for the caller to write in a transaction of its own; {@link noteWritten} when that is done. */
  toRecord(
    family: CommandFamily,
    answered: AnsweredMessage,
    result: CommandResult,
  ): OutboundRecord {
    const data = { ...toData(result), source: this.sourceOf(answered) };
    return this.recordOf(family, answered.message, result.kind, data);
  }

  noteWritten(family: CommandFamily, outcome: Exclude<Outcome, 'rejected'>): void {
    this.counter.inc({ flow: FLOW_OF[family], outcome, code: '' });
  }

  private recordOf(
    family: CommandFamily,
    message: InboundMessage,
    outcome: Outcome,
    data: CommandOutcome,
  ): OutboundRecord {
    const [key, type] = [keyOf(data.machineId, message), outcomeType(family, outcome)];
    return outcomeRecord(this.topicPrefix, key, type, data, this.clock.nowSeconds());
  }

  /** Where the message that is answered stands, under its topic's full name. */
  sourceOf({ message, messageId, origin }: AnsweredMessage): OutcomeSource {
    if (origin !== undefined) return origin.source;
    const { topic, partition, offset } = message;
    return { topic: `${this.topicPrefix}${topic}`, partition, offset, messageId };
  }
}
