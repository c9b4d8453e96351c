import { type AssignedOperation, inWorkingOrder } from './assigned-operation.js';

type ListedOperation = readonly [orderId: string, AssignedOperation];

interface MachineAssignments {
  readonly orderIds: Set<string>;
  /** In working order, as when the list was asked for last; undefined before the first time. */
  drawn: readonly ListedOperation[] | undefined;
  /** What of an order stands there now, where that is not what was drawn. */
  readonly changed: Map<string, readonly AssignedOperation[]>;
  /** Of what is drawn, with nothing changed since. */
  list: readonly string[] | undefined;
}

const NO_ORDERS: readonly string[] = [];

/**
 * Which orders stand on which machine, and the list that makes of each. Once a machine's list has been
 * drawn it is kept up with what changes: to draw it from what is stored means to read all its orders.
 */
export class AssignmentTable {
  private readonly machines = new Map<string, MachineAssignments>();

  /** @param operationsOf what of an order stands on a machine, with all changes that the table was told of */
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
    if (machine.drawn !== undefined) machine.changed.set(orderId, operations);
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
      machine = { orderIds: new Set(), drawn, changed: new Map(), list: undefined };
      this.machines.set(machineId, machine);
    }
    return machine;
  }

  private drawn(machineId: string, machine: MachineAssignments): readonly ListedOperation[] {
    const { orderIds, changed } = machine;
    const before = machine.drawn?.filter(([orderId]) => !changed.has(orderId));
    const operations = before ?? [];
    for (const orderId of before === undefined ? orderIds : changed.keys()) {
      const listed = changed.get(orderId) ?? this.operationsOf(machineId, orderId);
      for (const operation of listed) operations.push([orderId, operation]);
    }
    changed.clear();
    machine.drawn = operations.sort(inWorkingOrder);
    return operations;
  }
}
