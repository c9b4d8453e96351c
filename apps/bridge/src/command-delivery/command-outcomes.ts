import { Inject, Injectable } from '@nestjs/common';
import { Counter, type Metric } from 'prom-client';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import {
  BRIDGE_SOURCE,
  cloudEventHeaders,
  type CommandOutcome,
  outcomeId,
  type OutcomeType,
  TOPICS,
} from '#libs/contracts';
import { DeadLetters, type InboundMessage, Outbox } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { type CommandResult } from './command-result.js';
import { OutcomeHistory } from './outcome-history.js';

export type CommandFamily = 'work-order-list' | 'downtime-reason';

/** The message an outcome answers. */
export interface AnsweredMessage {
  message: InboundMessage;
  /** `ce_id` or `message-id` of the input. */
  messageId: string | null;
}

/** Tells what became of input messages: an outcome per machine, a dead letter per message at fault. */
@Injectable()
export class CommandOutcomes {
  private readonly counter = new Counter({
    name: 'machine_bridge_command_outcomes_total',
    help: 'Input messages by machine, by command and by what became of them',
    labelNames: ['command', 'outcome', 'code'],
    registers: [],
  });
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

  /** Resolves once Kafka has acknowledged all of it; only then may the message's offset move. */
  async publish(
    family: CommandFamily,
    answered: AnsweredMessage,
    results: readonly CommandResult[],
  ): Promise<void> {
    const faults = results.filter((result) => result.kind === 'rejected');
    await Promise.all([
      ...results.map((result) => this.send(family, answered, result.kind, result)),
      this.setAside(answered.message, faults, results.length > 1),
    ]);
  }

  /** Says once that a message waits for the service; never final. */
  async publishDeferred(
    family: CommandFamily,
    answered: AnsweredMessage,
    machineId: string,
    detail: string,
  ): Promise<void> {
    const waiting = { kind: 'superseded', machineId, attempts: 0, detail } as const;
    await this.send(family, answered, 'deferred', waiting);
  }

  private async send(
    family: CommandFamily,
    { message, messageId }: AnsweredMessage,
    outcome: CommandResult['kind'] | 'deferred',
    result: CommandResult,
  ): Promise<void> {
    // The cast hides one combination that never occurs: reasons are not superseded.
    const type = `${family}.${outcome}.v1` as OutcomeType;
    const { machineId } = result;
    const { partition, offset } = message;
    const topic = `${this.topicPrefix}${message.topic}`;
    const data = toOutcome(result, { topic, partition, offset, messageId });
    this.counter.inc({ command: family, outcome, code: data.code ?? '' });
    if (machineId !== null) this.history.add(machineId, data);
    await this.outbox.send({
      topic: `${this.topicPrefix}${TOPICS.commandOutcomes}`,
      key: machineId ?? message.key,
      value: JSON.stringify(data),
      headers: cloudEventHeaders({
        id: outcomeId({ topic, partition, offset }, machineId, type),
        source: BRIDGE_SOURCE,
        type,
        time: this.clock.nowSeconds(),
        ...(machineId !== null && { subject: machineId }),
      }),
    });
  }

  private async setAside(
    message: InboundMessage,
    faults: readonly Extract<CommandResult, { kind: 'rejected' }>[],
    namesSeveral: boolean,
  ): Promise<void> {
    const [first] = faults;
    if (first === undefined) return;
    const { rejection, attempts, httpStatus } = first;
    const machineIds = faults.flatMap(({ machineId }) => (machineId === null ? [] : [machineId]));
    await this.deadLetters.publish(message, {
      ...rejection,
      attempts,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(namesSeveral && { machineIds }),
    });
  }
}

function toOutcome(result: CommandResult, source: CommandOutcome['source']): CommandOutcome {
  const { machineId, attempts } = result;
  const outcome = { machineId, source, code: null, detail: null, attempts, appliedAt: null };
  switch (result.kind) {
    case 'applied':
      return { ...outcome, appliedAt: result.appliedAt };
    case 'superseded':
      return { ...outcome, detail: result.detail };
    case 'rejected':
      return { ...outcome, code: result.rejection.code, detail: result.rejection.detail };
    default:
      return result satisfies never;
  }
}
