import { type OrderOperation, type OrderSnapshot, type OrderStatus } from '#libs/contracts';

/** An operation that stands on a machine's list, under the name it has there. */
export interface ListedOperation {
  entry: string;
  orderId: string;
  operationId: string;
  machineId: string;
  sequence: number;
  plannedStart: number;
}

const LISTED: ReadonlySet<OrderStatus> = new Set(['released', 'started', 'held']);

export type MachineOf = (operation: OrderOperation) => string | undefined;

export interface PlacedOperations {
  listed: ListedOperation[];
  /** Every machine an operation names, listed or not. */
  named: string[];
  /** Operations that should be on a list and have no machine. */
  unmapped: OrderOperation[];
}

/** Puts each operation of an order where it belongs. */
export function placeOperations(order: OrderSnapshot, machineOf: MachineOf): PlacedOperations {
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
    if (isFinished(order) || !LISTED.has(operation.status)) continue;
    if (machineId === undefined) unmapped.push(operation);
    else
      listed.push(toListed(order.orderId, operation, machineId, perMachine.get(machineId) === 1));
  }
  return { listed, named: [...perMachine.keys()], unmapped };
}

/** An order that is over takes its operations with it, whatever they still say of themselves. */
export function isFinished({ status, operations }: OrderSnapshot): boolean {
  const areOperationsOver =
    operations.length > 0 && operations.every((each) => isOver(each.status));
  return isOver(status) || areOperationsOver;
}

function isOver(status: OrderStatus): boolean {
  return status === 'completed' || status === 'cancelled';
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

/** By sequence, then planned start, then order and operation; what has none of the first two comes last. */
export function inWorkingOrder(a: ListedOperation, b: ListedOperation): number {
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
