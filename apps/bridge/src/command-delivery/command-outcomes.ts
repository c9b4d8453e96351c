import { Inject, Injectable, Logger } from '@nestjs/common';
import { Counter, type Metric } from 'prom-client';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import {
  BRIDGE_SOURCE,
  cloudEventHeaders,
  type CommandOutcome,
  outcomeId,
  type OutcomeSource,
  TOPICS,
} from '#libs/contracts';
import { DeadLetters, Outbox } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandWaiter } from './command.js';
import { type CommandResult } from './command-result.js';
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
  private readonly topicPrefix: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly outbox: Outbox,
    private readonly deadLetters: DeadLetters,
  ) {
    this.topicPrefix = settings.kafka.topicPrefix;
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
      await this.send(family, answered, only.kind, toData(only));
      return;
    }
    const faults = results.filter((result) => result.kind === 'rejected');
    await Promise.all([
      ...results.map((result) => this.send(family, answered, result.kind, toData(result))),
      this.setAside(answered, faults, results.length > 1 || answered.namesOthers === true),
    ]);
  }

  /** Says once that a message waits for the service; never final, and nobody waits for it to get out. */
  publishDeferred(family: CommandFamily, { machineId, calls, answers }: CommandWaiter): void {
    const detail = 'waits for the service to take it';
    const data = { machineId, code: null, detail, attempts: calls, appliedAt: null };
    this.send(family, answers.answered, 'deferred', data).catch((error: unknown) => {
      this.logger.warn({ msg: 'deferral not told', machineId, error: String(error) });
    });
  }

  private async send(
    family: CommandFamily,
    answered: AnsweredMessage,
    outcome: Outcome,
    answer: OutcomeData,
  ): Promise<void> {
    const type = outcomeType(family, outcome);
    // Written out: this runs for every message, and spreading objects would cost as much as all the rest.
    const { machineId, code, detail, attempts, appliedAt } = answer;
    const source = this.sourceOf(answered);
    const data: CommandOutcome = { machineId, source, code, detail, attempts, appliedAt };
    this.counter.inc({ flow: FLOW_OF[family], outcome, code: code ?? '' });
    if (machineId !== null) this.history.add(machineId, data);
    await this.outbox.send({
      topic: `${this.topicPrefix}${TOPICS.commandOutcomes}`,
      key: keyOf(machineId, answered.message),
      value: JSON.stringify(data),
      headers: cloudEventHeaders({
        id: outcomeId(source, machineId, type),
        source: BRIDGE_SOURCE,
        type,
        time: this.clock.nowSeconds(),
        subject: machineId ?? undefined,
      }),
    });
  }

  /** Where the message that is answered stands, under its topic's full name. */
  sourceOf({ message, messageId, origin }: AnsweredMessage): OutcomeSource {
    if (origin !== undefined) return origin.source;
    const { topic, partition, offset } = message;
    return { topic: `${this.topicPrefix}${topic}`, partition, offset, messageId };
  }

  private async setAside(
    { message, origin }: AnsweredMessage,
    faults: readonly Extract<CommandResult, { kind: 'rejected' }>[],
    namesSeveral: boolean,
  ): Promise<void> {
    const [first] = faults;
    if (first === undefined) return;
    const { rejection, attempts, httpStatus } = first;
    const machineIds = faults.flatMap(({ machineId }) => (machineId === null ? [] : [machineId]));
    const original = await origin?.read(message.ownership.signal);
    const { record, remark } = original ?? { record: message, remark: undefined };
    await this.deadLetters.publish(record, {
      ...rejection,
      ...(remark !== undefined && { detail: `${rejection.detail}; ${remark}` }),
      attempts,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(namesSeveral && machineIds.length > 0 && { machineIds }),
    });
  }
}
