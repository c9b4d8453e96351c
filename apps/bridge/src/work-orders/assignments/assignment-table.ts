import {
  type AssignedOperation,
  inWorkingOrder,
  type OrderAssignment,
} from './assigned-operation.js';

interface MachineAssignments {
  readonly orders: Map<string, readonly AssignedOperation[]>;
  /** Drawn when it is asked for; until the next change. */
  list: readonly string[] | undefined;
}

const NO_ORDERS: readonly string[] = [];

/** Which operations stand on which machine, and the list that makes of each. */
export class AssignmentTable {
  private readonly machines = new Map<string, MachineAssignments>();

  /** Machines that have an order. */
  get size(): number {
    return this.machines.size;
  }

  assign(machineId: string, { orderId, operations }: OrderAssignment): void {
    if (operations.length === 0) {
      this.strike(machineId, orderId);
      return;
    }
    let machine = this.machines.get(machineId);
    if (machine === undefined) {
      this.machines.set(machineId, (machine = { orders: new Map(), list: undefined }));
    }
    machine.orders.set(orderId, operations);
    machine.list = undefined;
  }

  /** Work order identifiers in the order they are to be worked on. */
  listOf(machineId: string): readonly string[] {
    const machine = this.machines.get(machineId);
    if (machine === undefined) return NO_ORDERS;
    machine.list ??= draw(machine.orders);
    return machine.list;
  }

  private strike(machineId: string, orderId: string): void {
    const machine = this.machines.get(machineId);
    if (machine?.orders.delete(orderId) !== true) return;
    machine.list = undefined;
    if (machine.orders.size === 0) this.machines.delete(machineId);
  }
}

function draw(orders: MachineAssignments['orders']): string[] {
  const listed: [orderId: string, AssignedOperation][] = [];
  for (const [orderId, operations] of orders) {
    for (const operation of operations) listed.push([orderId, operation]);
  }
  return listed.sort(inWorkingOrder).map(([, { entry }]) => entry);
}
