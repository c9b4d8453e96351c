import { type OrderOperation, type OrderSnapshot, type OrderStatus } from '#libs/contracts';

/** An operation that stands on a machine's list, under the name it has there. */
interface ListedOperation {
  entry: string;
  orderId: string;
  operationId: string;
  machineId: string;
  sequence: number;
  plannedStart: number;
}

interface LedgerEntry {
  changedAt: number;
  listed: ListedOperation[];
}

export type MachineOf = (operation: OrderOperation) => string | undefined;

export type LedgerChange =
  | { kind: 'superseded'; machineIds: string[]; knownChangedAt: number }
  | { kind: 'recorded'; machineIds: string[]; unmapped: OrderOperation[] };

const LISTED: ReadonlySet<OrderStatus> = new Set(['released', 'started', 'held']);

/**
 * The last snapshot of each order and, drawn from all of them, each machine's list (contract §2.2).
 * Lives in memory for now: a restart starts with an empty ledger.
 */
export class OrderLedger {
  private readonly orders = new Map<string, LedgerEntry>();
  private readonly byMachine = new Map<string, Set<string>>();

  /** `machineIds` are the machines the order was listed on and those its operations name now. */
  record(snapshot: OrderSnapshot, machineOf: MachineOf): LedgerChange {
    const { orderId, changedAt } = snapshot;
    const known = this.orders.get(orderId);
    const { listed, named, unmapped } = placeOperations(snapshot, machineOf);
    if (known !== undefined && changedAt < known.changedAt) {
      return { kind: 'superseded', machineIds: named, knownChangedAt: known.changedAt };
    }
    const before = machinesOf(known?.listed ?? []);
    for (const machineId of before) this.byMachine.get(machineId)?.delete(orderId);
    for (const machineId of machinesOf(listed)) this.ordersOn(machineId).add(orderId);
    this.orders.set(orderId, { changedAt, listed });
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

  private ordersOn(machineId: string): Set<string> {
    const orders = this.byMachine.get(machineId) ?? new Set();
    this.byMachine.set(machineId, orders);
    return orders;
  }
}

interface PlacedOperations {
  listed: ListedOperation[];
  /** Every machine an operation names, listed or not. */
  named: string[];
  /** Operations that should be on a list and have no machine. */
  unmapped: OrderOperation[];
}

function placeOperations(order: OrderSnapshot, machineOf: MachineOf): PlacedOperations {
  const perMachine = new Map<string, number>();
  const placed = order.operations.map((operation) => ({
    operation,
    machineId: machineOf(operation),
  }));
  for (const { machineId } of placed) {
    if (machineId !== undefined) perMachine.set(machineId, (perMachine.get(machineId) ?? 0) + 1);
  }
  const listed: ListedOperation[] = [];
  const unmapped: OrderOperation[] = [];
  for (const { operation, machineId } of placed) {
    if (isOver(order.status) || !LISTED.has(operation.status)) continue;
    if (machineId === undefined) unmapped.push(operation);
    else
      listed.push(toListed(order.orderId, operation, machineId, perMachine.get(machineId) === 1));
  }
  return { listed, named: [...perMachine.keys()], unmapped };
}

/** The entry's name counts all operations of the order there: it does not change when one is done. */
function toListed(
  orderId: string,
  { operationId, sequence = 0, plannedStart = Infinity }: OrderOperation,
  machineId: string,
  isOnlyOne: boolean,
): ListedOperation {
  const entry = isOnlyOne ? orderId : `${orderId}-${operationId}`;
  const place = sequence === 0 ? Infinity : sequence;
  return { entry, orderId, operationId, machineId, sequence: place, plannedStart };
}

/** An order that is over takes its operations with it, whatever they still say of themselves. */
function isOver(status: OrderStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}

function machinesOf(operations: readonly ListedOperation[]): string[] {
  return [...new Set(operations.map(({ machineId }) => machineId))];
}

function inWorkingOrder(a: ListedOperation, b: ListedOperation): number {
  return (
    compare(a.sequence, b.sequence) ||
    compare(a.plannedStart, b.plannedStart) ||
    compare(a.orderId, b.orderId) ||
    compare(a.operationId, b.operationId)
  );
}

function compare<T extends number | string>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
