/** An operation on a machine's list, under the name it has there. */
export interface AssignedOperation {
  entry: string;
  operationId: string;
  /** 1 or more; without one it comes last. */
  sequence?: number;
  /** Epoch seconds; without one it comes last. */
  plannedStart?: number;
}

/** By sequence, then planned start, then order and operation; what has none of the first two comes last. */
export function inWorkingOrder(
  [orderA, a]: readonly [orderId: string, AssignedOperation],
  [orderB, b]: readonly [orderId: string, AssignedOperation],
): number {
  return (
    compare(a.sequence ?? Infinity, b.sequence ?? Infinity) ||
    compare(a.plannedStart ?? Infinity, b.plannedStart ?? Infinity) ||
    compare(orderA, orderB) ||
    compare(a.operationId, b.operationId)
  );
}

function compare<T extends number | string>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
