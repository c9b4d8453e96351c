import type { OperationChange, OrderOperation } from './order-operation.js';
import type { OrderStatus } from './order-status.js';
import { operationIdAt, replacementOf, type ReplacedOperations } from './replaced-operations.js';

/**
 * An operation that nobody has heard of joins if the change says where it is done. What the change replaces
 * goes, unless it is named again.
 */
export function mergeOperations(
  known: readonly OrderOperation[],
  changes: readonly OperationChange[],
  status: OrderStatus,
  replaced: ReplacedOperations | undefined,
): OrderOperation[] {
  const { isReplaced, predecessorOf } = replacementOf(known, replaced);
  const operations = new Map(known.map((operation) => [operation.operationId, operation]));
  for (const change of changes.flatMap((each) => atEachPlace(each, operations))) {
    const before = operations.get(change.operationId) ?? withoutPlace(predecessorOf(change));
    const after = { status, ...(hasPlace(change) ? withoutPlace(before) : before), ...change };
    if (hasPlace(after)) operations.set(change.operationId, after);
  }
  const named = new Set(changes.map(({ operationId }) => operationId));
  return [...operations.values()].filter(
    (operation) => named.has(operation.operationId) || !isReplaced(operation),
  );
}

/** What names no place goes for all places that are known of its operation. */
function atEachPlace(
  change: OperationChange,
  known: ReadonlyMap<string, OrderOperation>,
): OperationChange[] {
  if (hasPlace(change) || known.has(change.operationId)) return [change];
  const places = [...known.values()].filter(({ operationId, workCentre }) => {
    return (
      workCentre !== undefined && operationId === operationIdAt(change.operationId, workCentre)
    );
  });
  return places.map(({ operationId }) => ({ ...change, operationId }));
}

function hasPlace({ machineId, workCentre }: OperationChange): boolean {
  return machineId !== undefined || workCentre !== undefined;
}

/** A new work centre must not stand beside the machine of the old one. */
function withoutPlace(operation: Partial<OrderOperation> | undefined): Partial<OrderOperation> {
  const rest: Partial<OrderOperation> = { ...operation };
  delete rest.machineId;
  delete rest.workCentre;
  delete rest.plant;
  return rest;
}
