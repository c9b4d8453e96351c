import { type OrderOperation, type OrderSnapshot } from '#libs/contracts';
import { FinishedOrders } from './finished-orders.js';
import {
  inWorkingOrder,
  isFinished,
  type ListedOperation,
  type MachineOf,
  placeOperations,
} from './place-operations.js';

interface LedgerEntry {
  changedAt: number;
  listed: ListedOperation[];
}

export type LedgerChange =
  | { kind: 'superseded'; machineIds: string[]; knownChangedAt: number }
  | { kind: 'recorded'; machineIds: string[]; unmapped: OrderOperation[] };

/**
 * The last snapshot of each order and, drawn from all of them, each machine's list (contract §2.2).
 * Lives in memory for now: a restart starts with an empty ledger.
 */
export class OrderLedger {
  private readonly orders = new Map<string, LedgerEntry>();
  private readonly finished = new FinishedOrders();
  private readonly byMachine = new Map<string, Set<string>>();

  /** What is held in memory: orders that are not finished, and machines that have one of them listed. */
  get size(): { orders: number; machines: number } {
    return { orders: this.orders.size, machines: this.byMachine.size };
  }

  /** `machineIds` are the machines the order was listed on and those its operations name now. */
  record(snapshot: OrderSnapshot, machineOf: MachineOf): LedgerChange {
    const { orderId, changedAt } = snapshot;
    const known = this.orders.get(orderId);
    const knownChangedAt = known?.changedAt ?? this.finished.changedAt(orderId);
    const { listed, named, unmapped } = placeOperations(snapshot, machineOf);
    if (knownChangedAt !== undefined && changedAt < knownChangedAt) {
      return { kind: 'superseded', machineIds: named, knownChangedAt };
    }
    const before = machinesOf(known?.listed ?? []);
    for (const machineId of before) this.strike(orderId, machineId);
    if (isFinished(snapshot)) {
      this.orders.delete(orderId);
      this.finished.add(orderId, changedAt);
    } else {
      this.finished.delete(orderId);
      this.orders.set(orderId, { changedAt, listed });
      for (const machineId of machinesOf(listed)) this.enter(orderId, machineId);
    }
    return { kind: 'recorded', machineIds: [...new Set([...before, ...named])], unmapped };
  }

  /** Work order identifiers in the order they are to be worked on. */
  listOf(machineId: string): string[] {
    return [...(this.byMachine.get(machineId) ?? [])]
      .flatMap((orderId) => this.orders.get(orderId)?.listed ?? [])
      .filter((operation) => operation.machineId === machineId)
      .sort(inWorkingOrder)
      .map(({ entry }) => entry);
  }

  private enter(orderId: string, machineId: string): void {
    const orders = this.byMachine.get(machineId) ?? new Set();
    this.byMachine.set(machineId, orders.add(orderId));
  }

  private strike(orderId: string, machineId: string): void {
    const orders = this.byMachine.get(machineId);
    orders?.delete(orderId);
    if (orders?.size === 0) this.byMachine.delete(machineId);
  }
}

function machinesOf(operations: readonly ListedOperation[]): string[] {
  return [...new Set(operations.map(({ machineId }) => machineId))];
}
