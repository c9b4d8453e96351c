import {
  isOlderVersion,
  isFinishedStatus,
  type OperationChange,
  operationIdAt,
  type OrderChange,
  type OrderMessage,
  type OrderOperation,
  type OrderSnapshot,
  type OrderStatus,
  type ReplacedOperations,
} from '#libs/contracts';
import { isFinished } from './known-order.js';

export type OrderApplication =
  | { kind: 'applied'; order: OrderSnapshot }
  /** The message is older than the known order. */
  | { kind: 'superseded'; known: OrderSnapshot }
  /**
   * A change of an unknown order, whose named operations are all done. Not to be stored: an older message may still
   * come, with operations that are not done.
   */
  | { kind: 'nothing-left'; order: OrderSnapshot }
  /** A change that does not suffice: the order is unknown, or its operations are forgotten. */
  | { kind: 'unknown-order' };

/**
 * Applies a message to an order. A snapshot replaces the known order, a change is merged into it. Either is superseded
 * if it is older ({@link isOlderVersion}), and applied if it is as old. An unknown order may begin with a change if
 * that says where at least one operation is to be done, or that the order is over. The operations of a finished order
 * may be forgotten: a change that reopens it must also say where one is done. A change without content leaves the
 * order's time as it is.
 */
export function applyOrderMessage(
  known: OrderSnapshot | undefined,
  message: OrderMessage,
): OrderApplication {
  if (known !== undefined && isOlderVersion(message.order, known)) {
    return { kind: 'superseded', known };
  }
  switch (message.kind) {
    case 'snapshot':
      return { kind: 'applied', order: message.order };
    case 'change':
      if (known === undefined) return beginOrder(message.order);
      return isEmptyChange(message.order)
        ? { kind: 'applied', order: known }
        : mergeChange(known, message.order);
    default:
      return message satisfies never;
  }
}

/**
 * Whether a change only names its order. The event's own time must not count: it would supersede the order that the
 * receiver fetches because of it, which the sender dates by the change itself.
 */
function isEmptyChange({ status, operations = [] }: OrderChange): boolean {
  return status === undefined && operations.length === 0;
}

function mergeChange(known: OrderSnapshot, change: OrderChange): OrderApplication {
  const { orderId, changedAt, fence } = change;
  const status = change.status ?? known.status;
  // The stored operations of a finished order say nothing of the work that is reopened.
  const [open, kept] = isFinished(known)
    ? [{ ...known, operations: [] }, known.operations]
    : [known, []];
  const order: OrderSnapshot = {
    orderId,
    changedAt,
    status,
    operations: operationsAfter(open, change),
  };
  if (fence !== undefined) order.fence = fence;
  if (isWithoutWork(open, change, order)) return { kind: 'unknown-order' };
  if (kept.length > 0) {
    const named = new Set(order.operations.map(({ operationId }) => operationId));
    const { isReplaced } = replacementOf(kept, change.replaces);
    const others = kept.filter((each) => !named.has(each.operationId) && !isReplaced(each));
    order.operations = [...others, ...order.operations];
  }
  return { kind: 'applied', order };
}

/** Whether work is to be done again, and no operation is known that could be. */
function isWithoutWork(known: OrderSnapshot, change: OrderChange, after: OrderSnapshot): boolean {
  if (isFinishedStatus(after.status) || after.operations.length > 0) return false;
  const { operations = [] } = change;
  return (
    isFinishedStatus(known.status) ||
    operations.some((each) => !isFinishedStatus(each.status ?? after.status))
  );
}

function beginOrder(change: OrderChange): OrderApplication {
  const status = change.status ?? furthestStatus(change.operations ?? []);
  const { orderId, changedAt } = change;
  const nothing: OrderSnapshot = { orderId, changedAt, status, operations: [] };
  const result = mergeChange(nothing, change);
  if (isFinishedStatus(status) || result.kind !== 'applied' || hasWorkLeft(result.order))
    return result;
  return namesOnlyDone(change)
    ? { kind: 'nothing-left', order: result.order }
    : { kind: 'unknown-order' };
}

function hasWorkLeft({ operations }: OrderSnapshot): boolean {
  return operations.some(({ status }) => !isFinishedStatus(status));
}

/** Whether the change names only operations that are done. The order is not finished by them: there may be others. */
function namesOnlyDone({ operations = [] }: OrderChange): boolean {
  return (
    operations.length > 0 &&
    operations.every(({ status }) => status !== undefined && isFinishedStatus(status))
  );
}

function operationsAfter(
  known: OrderSnapshot,
  { status, operations, replaces }: OrderChange,
): OrderOperation[] {
  if (operations !== undefined) {
    return mergeOperations(known.operations, operations, status ?? known.status, replaces);
  }
  return status === undefined ? known.operations : operationsUnderStatus(known, status);
}

const FURTHEST_FIRST = ['started', 'held', 'released'] as const;

/** Status of an order known only by operations. It is not over when those are: there may be others. */
function furthestStatus(operations: readonly OperationChange[]): OrderStatus {
  const found = FURTHEST_FIRST.find((status) => operations.some((each) => each.status === status));
  return found ?? 'planned';
}

/**
 * Merges changes into the known operations. An unknown operation is added if the change says where it is done. The
 * operations that the change replaces are removed unless it names them again.
 */
function mergeOperations(
  known: readonly OrderOperation[],
  changes: readonly OperationChange[],
  status: OrderStatus,
  replaced: ReplacedOperations | undefined,
): OrderOperation[] {
  const { isReplaced, predecessorOf } = replacementOf(known, replaced);
  const operations = new Map(known.map((operation) => [operation.operationId, operation]));
  for (const change of atEachPlace(changes, operations)) {
    const before = operations.get(change.operationId) ?? withoutPlace(predecessorOf(change));
    const after = { status, ...(hasPlace(change) ? withoutPlace(before) : before), ...change };
    if (hasPlace(after)) operations.set(change.operationId, after);
  }
  const named = new Set(changes.map(({ operationId }) => operationId));
  return [...operations.values()].filter(
    (operation) => named.has(operation.operationId) || !isReplaced(operation),
  );
}

/** Applies a change without a place to all known places of its operation. */
function atEachPlace(
  changes: readonly OperationChange[],
  known: ReadonlyMap<string, OrderOperation>,
): OperationChange[] {
  let places: ReadonlyMap<string, readonly string[]> | undefined;
  return changes.flatMap((change) => {
    if (hasPlace(change) || known.has(change.operationId)) return [change];
    places ??= placesByOperation(known.values());
    const ids = places.get(change.operationId) ?? [];
    return ids.map((operationId) => ({ ...change, operationId }));
  });
}

/** Ids of entries by operation id: to search all entries for each of ten thousand changes takes seconds. */
function placesByOperation(known: Iterable<OrderOperation>): Map<string, string[]> {
  const places = new Map<string, string[]>();
  for (const entry of known) {
    const id = idWithoutPlace(entry);
    if (id === undefined) continue;
    const ids = places.get(id);
    if (ids === undefined) places.set(id, [entry.operationId]);
    else ids.push(entry.operationId);
  }
  return places;
}

function hasPlace({ machineId, workCentre }: OperationChange): boolean {
  return machineId !== undefined || workCentre !== undefined;
}

/** Removes the place: a new work centre must not be combined with the machine of the old one. */
function withoutPlace(operation: Partial<OrderOperation> | undefined): Partial<OrderOperation> {
  const rest: Partial<OrderOperation> = { ...operation };
  delete rest.machineId;
  delete rest.workCentre;
  delete rest.plant;
  return rest;
}

/**
 * The operations of an order after a change of its status alone. Done operations stay done, and started ones do not go
 * back to released. A partly released order has the status `released` while some operations are planned: so planned
 * operations follow it only if none had been released before.
 */
function operationsUnderStatus(
  known: Pick<OrderSnapshot, 'status' | 'operations'>,
  status: OrderStatus,
): OrderOperation[] {
  const doPlannedFollow = !wasReleased(known);
  return known.operations.map((operation) =>
    operation.status === 'planned' && !doPlannedFollow && !isFinishedStatus(status)
      ? operation
      : { ...operation, status: statusUnder(operation.status, status) },
  );
}

function statusUnder(operation: OrderStatus, order: OrderStatus): OrderStatus {
  if (isFinishedStatus(operation)) return operation;
  switch (order) {
    case 'completed':
    case 'cancelled':
    case 'planned':
    case 'started':
      return order;
    case 'held':
      return operation === 'planned' ? 'planned' : 'held';
    case 'released':
      return operation === 'started' ? 'started' : 'released';
    default:
      return order satisfies never;
  }
}

/** Operations may be released by messages of their own, which leave the order's status as it was. */
function wasReleased({
  status,
  operations,
}: Pick<OrderSnapshot, 'status' | 'operations'>): boolean {
  const isPutOff = status === 'planned' || status === 'held';
  return !isPutOff || operations.some((each) => !['planned', 'cancelled'].includes(each.status));
}

interface Replacement {
  isReplaced: (entry: OperationChange) => boolean;
  /** The first known entry of the same operation, which supplies the fields that the change leaves out. */
  predecessorOf: (entry: OperationChange) => OrderOperation | undefined;
}

function replacementOf(
  known: readonly OrderOperation[],
  replaced: ReplacedOperations = [],
): Replacement {
  const operationOf = replaced === 'all' ? () => 'all' : operationFinder(new Set(replaced));
  const predecessors = new Map<string, OrderOperation>();
  for (const entry of known) {
    const operation = operationOf(entry);
    if (operation !== undefined && !predecessors.has(operation)) predecessors.set(operation, entry);
  }
  return {
    isReplaced: (entry) => operationOf(entry) !== undefined,
    predecessorOf: (entry) => predecessors.get(operationOf(entry) ?? ''),
  };
}

/**
 * By the entry's id, or by its id without the place, which must be the entry's place: `010/A` at work centre B is an
 * operation of its own.
 */
function operationFinder(ids: ReadonlySet<string>): (entry: OperationChange) => string | undefined {
  return (entry) => {
    if (ids.has(entry.operationId)) return entry.operationId;
    const id = idWithoutPlace(entry);
    return id !== undefined && ids.has(id) ? id : undefined;
  };
}

/** The operation that the entry is one place of; undefined if the entry is an operation of its own. */
function idWithoutPlace({ operationId, workCentre }: OperationChange): string | undefined {
  if (workCentre === undefined) return undefined;
  const suffix = operationIdAt('', workCentre);
  return operationId.endsWith(suffix) ? operationId.slice(0, -suffix.length) : undefined;
}
