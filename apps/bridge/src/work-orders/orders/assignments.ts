import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { INTERNAL_TOPICS } from '#libs/contracts';
import type { InboundMessage, KeyedState, OutboundRecord } from '#libs/kafka';
import {
  type AssignedOperation,
  AssignmentTable,
  fromStoredAssignment,
  toStoredAssignment,
} from '#libs/order-ledger';
import {
  CommandOutcomes,
  type CommandResult,
  type InboundTarget,
  MessageResults,
  notStored,
  type RecordsOf,
} from '../../delivery/index.js';
import { WorkOrderLists } from '../lists/work-order-lists.js';
import { ASSIGNMENT_CHANGES, type AssignmentChange, OrderQueues } from './order-queues.js';

/**
 * The operations on each machine, in the partition of the machine's id. A change is applied at once, and the machine's
 * current list is sent. Once the service has answered, the assignment is written with the outcome. Until then the
 * change is not finished: the next owner of the partition starts without it, and gets it redelivered.
 */
@Injectable()
export class Assignments {
  readonly topic: KeyedState<readonly AssignedOperation[], AssignmentTable<OutboundRecord>>;
  /** Outcomes for an order that has left the machine. */
  private readonly recordsOfLeft: RecordsOf = (target, results) =>
    this.outcomes.resultRecords(target, results.map(goneWithMachine));

  constructor(
    private readonly queues: OrderQueues,
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
  ) {
    this.topic = queues.stateOf(ASSIGNMENT_CHANGES, INTERNAL_TOPICS.assignments, {
      format: toStoredAssignment,
      parse: fromStoredAssignment,
      onOwned: (state) => new AssignmentTable(state),
    });
  }

  /** Applies a change, in the order of the partition's offsets; the message ends once its list is final. */
  readonly applyChange = (
    message: InboundMessage,
    change: AssignmentChange,
    ending: readonly OutboundRecord[],
  ): void => {
    const table = this.topic.holders.get(message.partition);
    if (table === undefined) {
      message.abandon();
      return;
    }
    const { machineId, orderId, operations, isAnswered = false } = change;
    const target = { ...this.queues.outcomeTarget(message, change), hasOutcome: isAnswered };
    const changed = table.assign(machineId, orderId, operations);
    const remembering: InboundTarget = {
      ...target,
      records: changed === undefined ? ending : [changed.record, ...ending],
      whenRefused: (refusal) => {
        const isLatest = isDeepStrictEqual(table.operationsOf(machineId, orderId), operations);
        if (changed !== undefined && isLatest) table.assign(machineId, orderId, changed.before);
        const faults = [notStored(refusal, machineId)];
        return [...this.outcomes.resultRecords(target, faults), ...ending];
      },
    };
    const recordsOf = operations.length > 0 ? this.outcomes.resultRecords : this.recordsOfLeft;
    const results = new MessageResults(remembering, 1, [], recordsOf);
    const workingOrders = (): readonly string[] => table.listOf(machineId);
    this.lists.flow.submitCommand(machineId, { machineId, workingOrders }, results);
  };
}

/** A machine that the service no longer lists has no list to take the order off: the message is not at fault. */
function goneWithMachine(result: CommandResult): CommandResult {
  if (result.kind !== 'rejected' || result.rejection.code !== 'unknown-machine') return result;
  const { machineId, attempts, rejection } = result;
  return { kind: 'superseded', machineId, attempts, detail: rejection.detail };
}
