import { type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord, type OwnedState, type StateChange } from '#libs/messaging';
import { type AnsweredMessage, type CommandResult } from '../../command-delivery/index.js';
import { type AssignmentChange } from '../assignments/assignment-change.js';
import { type Derivation } from '../partition-writer.js';
import { type Entry } from '../waiting-entries.js';
import { deriveOrders, type ToldOrders } from './derive-orders.js';
import { FinishedOrders } from './finished-orders.js';
import { isFinished, type KnownOrder } from './known-order.js';
import { type MachineOf } from './place-order.js';
import { type UnmappedOperation } from './reject-unmapped.js';
import { type AnswerWithoutMachine } from './without-machine.js';

/** A message of orders as it waits to be written. */
export interface OrderEntry extends Entry, ToldOrders {
  answered: AnsweredMessage;
  source: OutcomeSource;
}

/** What is to be said of a message once its consequences are written. */
export interface OrderAnswer {
  entry: OrderEntry;
  results: readonly CommandResult[];
  /** Machines whose assignments it has changed. */
  assigned: number;
  unmapped: readonly UnmappedOperation[];
  /** Written already, as what the message is answered with. */
  withoutMachine: AnswerWithoutMachine | undefined;
}

export interface PartitionOrdersOptions {
  machineOf: MachineOf;
  toRecord: (change: AssignmentChange) => OutboundRecord;
  /** What a message that concerns no machine is answered with. */
  toOutcome: (entry: OrderEntry, answer: AnswerWithoutMachine) => OutboundRecord;
  answer: (answer: OrderAnswer) => void;
}

/** The orders of one partition: what messages make of them, and which of the finished ones to forget. */
export class PartitionOrders {
  private finished = new FinishedOrders();

  constructor(private readonly options: PartitionOrdersOptions) {}

  restored(state: OwnedState<KnownOrder>): void {
    const finished: [orderId: string, changedAt: number][] = [];
    for (const [orderId, order] of state.entries()) {
      if (isFinished(order)) finished.push([orderId, order.changedAt]);
    }
    finished.sort(([, a], [, b]) => a - b);
    this.finished = new FinishedOrders(finished.map(([orderId]) => orderId));
  }

  derive(state: OwnedState<KnownOrder>, entries: readonly OrderEntry[]): Derivation<KnownOrder> {
    const { machineOf, toRecord, toOutcome, answer } = this.options;
    const changed = new Map<string, KnownOrder>();
    const view = {
      get: (orderId: string) => changed.get(orderId) ?? state.get(orderId),
      set: (orderId: string, order: KnownOrder) => changed.set(orderId, order),
    };
    const records: OutboundRecord[] = [];
    const answers: OrderAnswer[] = [];
    for (const entry of entries) {
      const { assignments, ...said } = deriveOrders(entry, view, machineOf);
      for (const [machineId, orders] of assignments) {
        records.push(toRecord({ machineId, orders, source: entry.source }));
      }
      if (said.withoutMachine !== undefined) records.push(toOutcome(entry, said.withoutMachine));
      answers.push({ entry, assigned: assignments.size, ...said });
    }
    const changes = this.withForgotten(changed);
    return {
      changes,
      records,
      conclude: () => {
        this.note(changes);
        for (const each of answers) answer(each);
      },
    };
  }

  private withForgotten(changed: ReadonlyMap<string, KnownOrder>): StateChange<KnownOrder>[] {
    const forgotten = this.finished.excess().filter((orderId) => !changed.has(orderId));
    return [...changed, ...forgotten.map((orderId) => [orderId, null] as const)];
  }

  private note(changes: readonly StateChange<KnownOrder>[]): void {
    for (const [orderId, order] of changes) {
      if (order !== null && isFinished(order)) this.finished.finished(orderId);
      else this.finished.delete(orderId);
    }
  }
}
