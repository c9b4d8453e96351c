import { type AssignedOperation, type OrderAssignment } from './assigned-operation.js';
import { AssignmentTable } from './assignment-table.js';
import { keyOf } from './derive-assignments.js';

/** Assignments in memory alone, and the lists they make. */
export class HeldAssignments {
  private readonly operations = new Map<string, readonly AssignedOperation[]>();
  private readonly table = new AssignmentTable(
    (machineId, orderId) => this.operations.get(keyOf(machineId, orderId)) ?? [],
  );

  /** Machines that have an order. */
  get size(): number {
    return this.table.size;
  }

  assign(machineId: string, { orderId, operations }: OrderAssignment): void {
    if (operations.length > 0) this.operations.set(keyOf(machineId, orderId), operations);
    else this.operations.delete(keyOf(machineId, orderId));
    this.table.changed(machineId, orderId, operations);
  }

  listOf(machineId: string): readonly string[] {
    return this.table.listOf(machineId);
  }
}
