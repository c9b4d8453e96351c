import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type CommandOutcome, type OutcomeSource } from '#libs/contracts';
import { DeadLetters, type InboundMessage, Outbox, type Receipt } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { type AnsweredMessage } from './answered-message.js';
import { type CommandResult, type RejectedResult } from './command-result.js';
import { JointReceipt } from './joint-receipt.js';
import { OutcomeCounts } from './outcome-counts.js';
import {
  type CommandFamily,
  type Outcome,
  outcomeType,
  toDeferral,
  toOutcome,
} from './outcome-data.js';
import { OutcomeRecords } from './outcome-records.js';
import { RecentOutcomes } from './recent-outcomes.js';
import { RejectedMessages } from './rejected-messages.js';
import { ToldOutcomes } from './told-outcomes.js';

/** Publishes what became of input messages: an outcome per machine, a dead letter per message at fault. */
@Injectable()
export class OutcomePublisher {
  readonly records: OutcomeRecords;
  readonly counts = new OutcomeCounts();
  readonly recent = new RecentOutcomes();
  private readonly rejected: RejectedMessages;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka }: BridgeSettings,
    clock: Clock,
    private readonly outbox: Outbox,
    deadLetters: DeadLetters,
    private readonly told: ToldOutcomes,
  ) {
    this.records = new OutcomeRecords(kafka.topicPrefix, clock);
    this.rejected = new RejectedMessages(deadLetters);
  }

  /** The receipt hears once Kafka has acknowledged all of it; only then may the message's offset move. */
  publish(
    family: CommandFamily,
    answered: AnsweredMessage,
    found: readonly CommandResult[],
    receipt: Receipt,
  ): void {
    if (answered.isUntold === true) {
      receipt.acknowledged();
      return;
    }
    const source = this.records.sourceOf(answered);
    const results = this.told.asWritten(source, found);
    const [only] = results;
    if (only !== undefined && results.length === 1 && only.kind !== 'rejected') {
      this.tell(family, answered, source, only, receipt);
      return;
    }
    const faults = results.filter((result) => result.kind === 'rejected');
    const others = results.filter(({ kind }) => kind !== 'rejected');
    const joint = new JointReceipt(others.length + 1, receipt);
    for (const result of others) this.tell(family, answered, source, result, joint);
    this.reject(family, answered, source, faults, results.length > 1).then(
      () => {
        joint.acknowledged();
      },
      (error: unknown) => {
        joint.refused(error);
      },
    );
  }

  /** Whether an earlier owner has told it, asked as {@link ToldOutcomes.take} is. */
  wasTold(source: OutcomeSource, machineId: string | null): boolean {
    return this.told.take(source, machineId);
  }

  /** Says that a message waits for the service; never final. */
  publishDeferred(
    family: CommandFamily,
    answered: AnsweredMessage,
    { machineId, calls }: { machineId: string; calls: number },
    receipt: Receipt,
  ): void {
    if (answered.isUntold === true) return;
    const outcome = toDeferral(machineId, this.records.sourceOf(answered), calls);
    this.post(family, answered.message, 'deferred', outcome, receipt);
  }

  private tell(
    family: CommandFamily,
    { message }: AnsweredMessage,
    source: OutcomeSource,
    result: CommandResult,
    receipt: Receipt,
  ): void {
    if (this.told.take(source, result.machineId)) receipt.acknowledged();
    else this.post(family, message, result.kind, toOutcome(result, source), receipt);
  }

  /** A rejection is told once the dead letter is there: whoever finds either need not write another one. */
  private async reject(
    family: CommandFamily,
    answered: AnsweredMessage,
    source: OutcomeSource,
    faults: readonly RejectedResult[],
    hasOthers: boolean,
  ): Promise<void> {
    const untold = faults.filter(({ machineId }) => !this.told.take(source, machineId));
    if (untold.length === 0) return;
    const lacking = this.told.withoutLetter(source, answered, untold);
    if (lacking.length > 0) await this.rejected.setAside(source, answered, lacking, hasOthers);
    await answered.message.ownership.telling.stillAllowed();
    await new Promise<void>((acknowledged, refused) => {
      const all = new JointReceipt(untold.length, { acknowledged, refused });
      for (const result of untold) {
        this.post(family, answered.message, result.kind, toOutcome(result, source), all);
      }
    });
  }

  private post(
    family: CommandFamily,
    message: InboundMessage,
    kind: Outcome,
    outcome: CommandOutcome,
    receipt: Receipt,
  ): void {
    const { machineId, code } = outcome;
    this.counts.add(family, kind, code);
    if (machineId !== null) this.recent.add(machineId, outcomeType(family, kind), outcome);
    this.outbox.post(this.records.of(family, message, kind, outcome), receipt);
  }
}
