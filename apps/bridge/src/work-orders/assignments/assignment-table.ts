import { type AssignedOperation, inWorkingOrder } from './assigned-operation.js';

interface MachineAssignments {
  readonly orderIds: Set<string>;
  /** Drawn when it is asked for; until the next change. */
  list: readonly string[] | undefined;
}

const NO_ORDERS: readonly string[] = [];

/** Which orders stand on which machine, and the list that makes of each. */
export class AssignmentTable {
  private readonly machines = new Map<string, MachineAssignments>();

  /** @param operationsOf what of an order stands on a machine: kept elsewhere, and only once */
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

  /** What of the order stands on the machine has changed; or nothing of it does any more. */
  changed(machineId: string, orderId: string, isListed: boolean): void {
    if (isListed) this.enter(machineId, orderId);
    else this.strike(machineId, orderId);
  }

  /** Work order identifiers in the order they are to be worked on. */
  listOf(machineId: string): readonly string[] {
    const machine = this.machines.get(machineId);
    if (machine === undefined) return NO_ORDERS;
    machine.list ??= this.draw(machineId, machine.orderIds);
    return machine.list;
  }

  private enter(machineId: string, orderId: string): void {
    let machine = this.machines.get(machineId);
    if (machine === undefined) {
      this.machines.set(machineId, (machine = { orderIds: new Set(), list: undefined }));
    }
    machine.orderIds.add(orderId);
    machine.list = undefined;
  }

  private strike(machineId: string, orderId: string): void {
    const machine = this.machines.get(machineId);
    if (machine?.orderIds.delete(orderId) !== true) return;
    machine.list = undefined;
    if (machine.orderIds.size === 0) this.machines.delete(machineId);
  }

  private draw(machineId: string, orderIds: ReadonlySet<string>): string[] {
    const listed: [orderId: string, AssignedOperation][] = [];
    for (const orderId of orderIds) {
      for (const operation of this.operationsOf(machineId, orderId)) {
        listed.push([orderId, operation]);
      }
    }
    return listed.sort(inWorkingOrder).map(([, { entry }]) => entry);
  }
}
