import { type AssignedOperation, inWorkingOrder } from './assigned-operation.js';

type ListedOperation = readonly [orderId: string, AssignedOperation];

interface MachineAssignments {
  readonly orderIds: Set<string>;
  /** In working order, as when the list was asked for last; undefined before the first time. */
  drawn: ListedOperation[] | undefined;
  /** What of an order stands there now, where that is not what was drawn. */
  readonly changed: Map<string, readonly AssignedOperation[]>;
  /** Something of these may be drawn. */
  hasReplaced: boolean;
  /** Of what is drawn, with nothing changed since. */
  list: readonly string[] | undefined;
}

const NO_ORDERS: readonly string[] = [];
/** So many orders are put in among the others one by one. */
const FEW = 8;

/**
 * Which orders stand on which machine, and the list that makes of each. Once a machine's list has been
 * drawn it is kept up with what changes: to draw it from what is stored means to read all its orders.
 */
export class AssignmentTable {
  private readonly machines = new Map<string, MachineAssignments>();

  /** @param operationsOf what of an order stands on a machine, with all changes reported by {@link changed} */
  constructor(
    private readonly operationsOf: (
      machineId: string,
      orderId: string,
    ) => readonly AssignedOperation[],
  ) {}

  /** Machines that have an order. */
  get size(): number {
    return this.machines.size;
  }

  /** As restored, before any list is asked for: something of the order stands on the machine. */
  stands(machineId: string, orderId: string): void {
    this.machineOf(machineId, undefined).orderIds.add(orderId);
  }

  /** What of the order stands on the machine has changed; or nothing of it does any more. */
  changed(machineId: string, orderId: string, operations: readonly AssignedOperation[]): void {
    if (operations.length === 0 && !this.machines.has(machineId)) return;
    const machine = this.machineOf(machineId, []);
    machine.list = undefined;
    if (machine.drawn !== undefined) {
      machine.changed.set(orderId, operations);
      machine.hasReplaced ||= machine.orderIds.has(orderId);
    }
    if (operations.length > 0) machine.orderIds.add(orderId);
    else machine.orderIds.delete(orderId);
    if (machine.orderIds.size === 0) this.machines.delete(machineId);
  }

  /** Work order identifiers in the order they are to be worked on. */
  listOf(machineId: string): readonly string[] {
    const machine = this.machines.get(machineId);
    if (machine === undefined) return NO_ORDERS;
    machine.list ??= this.drawn(machineId, machine).map(([, { entry }]) => entry);
    return machine.list;
  }

  private machineOf(machineId: string, drawn: MachineAssignments['drawn']): MachineAssignments {
    let machine = this.machines.get(machineId);
    if (machine === undefined) {
      const changed = new Map<string, readonly AssignedOperation[]>();
      machine = { orderIds: new Set(), drawn, changed, hasReplaced: false, list: undefined };
      this.machines.set(machineId, machine);
    }
    return machine;
  }

  private drawn(machineId: string, machine: MachineAssignments): readonly ListedOperation[] {
    const { drawn, orderIds, changed, hasReplaced } = machine;
    machine.drawn =
      drawn === undefined
        ? this.drawAll(machineId, orderIds)
        : redrawn(hasReplaced ? without(drawn, changed) : drawn, changed);
    changed.clear();
    machine.hasReplaced = false;
    return machine.drawn;
  }

  private drawAll(machineId: string, orderIds: ReadonlySet<string>): ListedOperation[] {
    const drawn: ListedOperation[] = [];
    for (const orderId of orderIds) {
      for (const operation of this.operationsOf(machineId, orderId)) {
        drawn.push([orderId, operation]);
      }
    }
    return drawn.sort(inWorkingOrder);
  }
}

function without(
  drawn: readonly ListedOperation[],
  changed: ReadonlyMap<string, unknown>,
): ListedOperation[] {
  return drawn.filter(([orderId]) => !changed.has(orderId));
}

/** What is drawn, with what has changed put in among it: to sort all anew would take several times as long. */
function redrawn(
  all: ListedOperation[],
  changed: ReadonlyMap<string, readonly AssignedOperation[]>,
): ListedOperation[] {
  for (const [orderId, operations] of changed) {
    for (const operation of operations) {
      if (changed.size > FEW) all.push([orderId, operation]);
      else insert(all, [orderId, operation]);
    }
  }
  return changed.size > FEW ? all.sort(inWorkingOrder) : all;
}

function insert(all: ListedOperation[], listed: ListedOperation): void {
  let [from, to] = [0, all.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const there = all[middle];
    if (there !== undefined && inWorkingOrder(there, listed) <= 0) from = middle + 1;
    else to = middle;
  }
  all.splice(from, 0, listed);
}
