import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type CommandOutcome, type OutcomeSource } from '#libs/contracts';
import { type DeadLetterReason, DeadLetters, type OutboundRecord } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { type Answered, type AnsweredMessage } from './answered-message.js';
import { type CommandWaiter } from './command.js';
import { type CommandResult, type RejectedResult } from './command-result.js';
import { MessageAnswers, type RecordsOf } from './message-answers.js';
import { OutcomeCounts, type OutcomeTotal } from './outcome-counts.js';
import {
  type CommandFamily,
  type Outcome,
  outcomeType,
  toDeferral,
  toOutcome,
} from './outcome-data.js';
import { outcomePerMachine } from './outcome-per-machine.js';
import { OutcomeRecords } from './outcome-records.js';
import { type RecentOutcome, RecentOutcomes } from './recent-outcomes.js';

/**
 * What became of input messages, as records for the transaction that commits their offsets: an outcome per machine, a
 * dead letter per message at fault.
 */
@Injectable()
export class CommandOutcomes {
  private readonly records: OutcomeRecords;
  private readonly counts = new OutcomeCounts();
  private readonly recent = new RecentOutcomes();
  /** One of each family, rather than of each message. */
  private readonly recordsBy: Readonly<Record<CommandFamily, RecordsOf>> = {
    'work-order-list': (answered, results) => this.recordsOf('work-order-list', answered, results),
    'downtime-reason': (answered, results) => this.recordsOf('downtime-reason', answered, results),
  };

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka }: BridgeSettings,
    clock: Clock,
    private readonly deadLetters: DeadLetters,
  ) {
    this.records = new OutcomeRecords(kafka.topicPrefix, clock);
  }

  /** All outcomes since the start, by what they say. */
  totals(): OutcomeTotal[] {
    return this.counts.totals();
  }

  /** The latest outcomes of a machine, newest first. */
  recentOf(machineId: string): readonly RecentOutcome[] {
    return this.recent.of(machineId);
  }

  /** The answers to a message of which `open` commands are still to be settled and some things may be known. */
  answersTo(
    family: CommandFamily,
    answered: AnsweredMessage,
    open: number,
    known: readonly CommandResult[],
  ): MessageAnswers {
    return new MessageAnswers(answered, open, known, this.recordsBy[family]);
  }

  /** All there is to write of a message, where nobody else answers it. */
  recordsOf(
    family: CommandFamily,
    answered: Answered,
    found: readonly CommandResult[],
  ): OutboundRecord[] {
    if (answered.isUntold === true) return [];
    const { message, origin, namesOthers, remark } = answered;
    const source = this.sourceOf(answered);
    const results = outcomePerMachine(found);
    const faults = results.filter((result) => result.kind === 'rejected');
    const isToldHere = ({ kind }: CommandResult): boolean => kind !== 'rejected' || !origin;
    const records = results
      .filter(isToldHere)
      .map((result) => this.counted(family, answered, result.kind, toOutcome(result, source)));
    if (faults.length === 0) return records;
    const namesSeveral = results.length > 1 || namesOthers === true;
    const refusal =
      origin?.refusal(faults) ??
      this.deadLetters.letterOf(message, reasonOf(faults, namesSeveral, remark));
    return [refusal, ...records];
  }

  /** Says once that a message waits for the service; never final. */
  tellDeferred(family: CommandFamily, { machineId, calls, answers }: CommandWaiter): void {
    const { answered } = answers;
    if (answered.isUntold === true) return;
    const outcome = toDeferral(machineId, this.sourceOf(answered), calls);
    answered.message.tell([this.counted(family, answered, 'deferred', outcome)]);
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
    this.counts.add(family, outcome, null);
  }

  /** Where the message that is answered stands, under its topic's full name. */
  sourceOf(answered: Answered): OutcomeSource {
    return this.records.sourceOf(answered);
  }

  private counted(
    family: CommandFamily,
    { message }: Answered,
    kind: Outcome,
    outcome: CommandOutcome,
  ): OutboundRecord {
    const { machineId, code } = outcome;
    this.counts.add(family, kind, code);
    if (machineId !== null) this.recent.add(machineId, outcomeType(family, kind), outcome);
    return this.records.of(family, message, kind, outcome);
  }
}

/**
 * Why a message is set aside.
 *
 * @param faults one at least
 * @param namesSeveral the message names other machines beside
 */
function reasonOf(
  faults: readonly RejectedResult[],
  namesSeveral: boolean,
  remark?: string,
): DeadLetterReason {
  const named = faults.find(isUnmapped) ?? faults[0];
  if (named === undefined) throw new Error('a dead letter without a fault');
  const { rejection, attempts, httpStatus } = named;
  const machineIds = faults.flatMap(({ machineId }) => (machineId === null ? [] : [machineId]));
  return {
    ...rejection,
    ...(remark !== undefined && { detail: `${rejection.detail}; ${remark}` }),
    attempts,
    ...(httpStatus !== undefined && { httpStatus }),
    ...(namesSeveral && machineIds.length > 0 && { machineIds }),
  };
}

/** A letter is found by its code, to be replayed once the work centre is mapped; other faults beside it stay. */
function isUnmapped({ rejection }: RejectedResult): boolean {
  return rejection.code === 'unmapped-work-centre';
}
