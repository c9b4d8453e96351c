import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { INTERNAL_TOPICS } from '#libs/contracts';
import type { InboundMessage, InputState, KeyedState, OutboundRecord } from '#libs/kafka';
import {
  type AssignedOperation,
  assignmentKey,
  AssignmentTable,
  fromStoredAssignment,
  placeOfKey,
  toStoredAssignment,
} from '#libs/order-ledger';
import {
  type AnsweredMessage,
  CommandOutcomes,
  type CommandResult,
  MessageAnswers,
  notTaken,
  type RecordsOf,
} from '../../delivery/index.js';
import { WorkOrderLists } from '../lists/work-order-lists.js';
import { OrderQueues } from './order-queues.js';
import { ASSIGNMENT_CHANGES, type AssignmentChange } from './queues.js';

type Operations = readonly AssignedOperation[];

/**
 * Which operations stand on which machine, in the partition of the machine's id. A change is taken in at once, and the
 * machine's list is set, as it is by the time it is sent. Once the service has answered, the assignment is written with
 * the outcome. Until then the change is not done: whoever owns the partition next begins without it, and gets it again.
 */
@Injectable()
export class Assignments {
  /** Operations by machine and order, in the partition their changes come through. */
  readonly topic: KeyedState<Operations, OwnedAssignments>;
  /** Of an order that has left the machine. */
  private readonly recordsOfLeft: RecordsOf = (answered, results) =>
    this.outcomes.recordsOf(answered, results.map(goneWithMachine));

  constructor(
    private readonly queues: OrderQueues,
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
  ) {
    this.topic = queues.stateOf(ASSIGNMENT_CHANGES, INTERNAL_TOPICS.assignments, {
      format: toStoredAssignment,
      parse: fromStoredAssignment,
      onOwned: (state) => new OwnedAssignments(state),
    });
  }

  /** Takes a change, in the order of the partition's offsets; the message ends once the list it leads to is final. */
  readonly takeChange = (
    message: InboundMessage,
    change: AssignmentChange,
    ending: readonly OutboundRecord[],
  ): void => {
    const assignments = this.topic.holders.get(message.partition);
    if (assignments === undefined) {
      message.abandon();
      return;
    }
    const { machineId, isAnswered = false } = change;
    const answered = { ...this.queues.answeredBy(message, change), isAnswered };
    const { records, undo } = assignments.assign(change);
    const remembering: AnsweredMessage = {
      ...answered,
      records: [...records, ...ending],
      whenRefused: (refusal) => {
        undo();
        const faults = [notTaken(refusal, machineId)];
        return [...this.outcomes.recordsOf(answered, faults), ...ending];
      },
    };
    const answers =
      change.operations.length > 0
        ? this.outcomes.answersTo(remembering, 1, [])
        : new MessageAnswers(remembering, 1, [], this.recordsOfLeft);
    const workingOrders = (): readonly string[] => assignments.table.listOf(machineId);
    const list = { machineId, workingOrders, cumulative: true };
    this.lists.flow.submitCommand(machineId, list, answers);
  };
}

/**
 * A machine that the service no longer lists has no list to take the order off: a message that says where the order is
 * now, or that it is over, is not at fault for that.
 */
function goneWithMachine(result: CommandResult): CommandResult {
  if (result.kind !== 'rejected' || result.rejection.code !== 'unknown-machine') return result;
  const { machineId, attempts, rejection } = result;
  return { kind: 'superseded', machineId, attempts, detail: rejection.detail };
}

/** The assignments in an owned partition, as they are stored and as machines' lists are drawn from them. */
class OwnedAssignments {
  readonly table: AssignmentTable;

  constructor(private readonly state: InputState<Operations>) {
    this.table = new AssignmentTable(
      (machineId, orderId) => state.get(assignmentKey(machineId, orderId)) ?? [],
    );
    for (const key of state.keys()) {
      const place = placeOfKey(key);
      if (place !== undefined) this.table.stands(place.machineId, place.orderId);
    }
  }

  /** Returns what is to be written, and what makes it as it was, unless another change has come since. */
  assign({ machineId, orderId, operations }: AssignmentChange): {
    records: readonly OutboundRecord[];
    undo: () => void;
  } {
    const { state } = this;
    const key = assignmentKey(machineId, orderId);
    const before = state.get(key) ?? [];
    if (before.length === 0 && operations.length === 0) {
      return { records: [], undo: () => undefined };
    }
    const put = (now: Operations, was: Operations): OutboundRecord => {
      const record = state.put(key, now.length > 0 ? now : null);
      this.table.changed(machineId, orderId, was, now);
      return record;
    };
    const undo = (): void => {
      if (isDeepStrictEqual(state.get(key) ?? [], operations)) put(before, operations);
    };
    return { records: [put(operations, before)], undo };
  }
}
