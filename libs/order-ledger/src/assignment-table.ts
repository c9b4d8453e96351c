/** An operation on a machine's list, with its entry there. */
export interface AssignedOperation {
  entry: string;
  operationId: string;
  /** 1 or more; operations without one come last. */
  sequence?: number;
  /** Epoch seconds; operations without one come last. */
  plannedStart?: number;
}

type ListedOperation = readonly [orderId: string, AssignedOperation];

interface MachineAssignments {
  readonly orderIds: Set<string>;
  /** In list order; undefined until the list is first requested. */
  sorted: ListedOperation[] | undefined;
  /** The list, until an assignment changes. */
  list: readonly string[] | undefined;
}

const NO_ORDERS: readonly string[] = [];

/** The operations of an order on a machine, by {@link assignmentKey}. */
interface AssignmentStore<R> {
  get: (key: string) => readonly AssignedOperation[] | undefined;
  keys: () => Iterable<string>;
  /** Stores the operations, or deletes them if null. Returns the record of the change. */
  put: (key: string, operations: readonly AssignedOperation[] | null) => R;
}

/**
 * The orders on each machine, and the resulting lists. A machine's sorted operations are built once and then updated:
 * building them means to read all its orders from the store.
 */
export class AssignmentTable<R = void> {
  private readonly machines = new Map<string, MachineAssignments>();

  /** @param store changed only by this table */
  constructor(private readonly store: AssignmentStore<R>) {
    for (const key of store.keys()) {
      const place = placeOfKey(key);
      if (place === undefined) continue;
      this.rowOf(place.machineId, undefined).orderIds.add(place.orderId);
    }
  }

  static inMemory(stored = new Map<string, readonly AssignedOperation[]>()): AssignmentTable {
    return new AssignmentTable({
      get: (key) => stored.get(key),
      keys: () => stored.keys(),
      put: (key, operations) => {
        if (operations === null) stored.delete(key);
        else stored.set(key, operations);
      },
    });
  }

  get size(): number {
    return this.machines.size;
  }

  operationsOf(machineId: string, orderId: string): readonly AssignedOperation[] {
    return this.store.get(assignmentKey(machineId, orderId)) ?? [];
  }

  /**
   * Sets the order's operations on the machine, which may be none. Returns the former ones and the record of the
   * change; undefined if there were none before either.
   */
  assign(
    machineId: string,
    orderId: string,
    operations: readonly AssignedOperation[],
  ): { before: readonly AssignedOperation[]; record: R } | undefined {
    const key = assignmentKey(machineId, orderId);
    const before = this.store.get(key) ?? [];
    if (before.length === 0 && operations.length === 0) return undefined;
    const record = this.store.put(key, operations.length > 0 ? operations : null);
    const machine = this.rowOf(machineId, []);
    const { sorted, orderIds } = machine;
    machine.list = undefined;
    if (sorted !== undefined) {
      const others = sorted.filter(([id]) => id !== orderId);
      const its = operations.map((each): ListedOperation => [orderId, each]);
      machine.sorted = [...others, ...its].sort(inWorkingOrder);
    }
    if (operations.length > 0) orderIds.add(orderId);
    else orderIds.delete(orderId);
    if (orderIds.size === 0) this.machines.delete(machineId);
    return { before, record };
  }

  /** Work order identifiers in the order in which they are to be worked on. */
  listOf(machineId: string): readonly string[] {
    const machine = this.machines.get(machineId);
    if (machine === undefined) return NO_ORDERS;
    machine.sorted ??= this.sortedOperations(machineId, machine.orderIds);
    machine.list ??= machine.sorted.map(([, { entry }]) => entry);
    return machine.list;
  }

  private rowOf(machineId: string, sorted: MachineAssignments['sorted']): MachineAssignments {
    let machine = this.machines.get(machineId);
    if (machine === undefined) {
      machine = { orderIds: new Set(), sorted, list: undefined };
      this.machines.set(machineId, machine);
    }
    return machine;
  }

  private sortedOperations(machineId: string, orderIds: ReadonlySet<string>): ListedOperation[] {
    const sorted: ListedOperation[] = [];
    for (const orderId of orderIds) {
      for (const operation of this.operationsOf(machineId, orderId)) {
        sorted.push([orderId, operation]);
      }
    }
    return sorted.sort(inWorkingOrder);
  }
}

/** By sequence, planned start, order id and operation id; operations without one of the first two come last. */
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

/** Separates the ids of a key: ids contain no control characters. */
const KEY_SEPARATOR = '\u0000';

export function assignmentKey(machineId: string, orderId: string): string {
  return `${machineId}${KEY_SEPARATOR}${orderId}`;
}

/** Machine and order of a key; undefined if it has another form, as earlier versions wrote. */
export function placeOfKey(key: string): { machineId: string; orderId: string } | undefined {
  const end = key.indexOf(KEY_SEPARATOR);
  if (end < 1) return undefined;
  return { machineId: key.slice(0, end), orderId: key.slice(end + 1) };
}

/** An operation without field names, which would take more space than the values. */
type StoredOperation = [
  entry: string,
  operationId: string,
  sequence: number | null,
  plannedStart: number | null,
];

export function toStoredAssignment(operations: readonly AssignedOperation[]): StoredOperation[] {
  return operations.map(({ entry, operationId, sequence = null, plannedStart = null }) => {
    return [entry, operationId, sequence, plannedStart];
  });
}

/** Parses what the bridge has stored; undefined if it is not valid. */
export function fromStoredAssignment(json: unknown): readonly AssignedOperation[] | undefined {
  if (!Array.isArray(json) || !json.every(Array.isArray)) return undefined;
  return (json as unknown as StoredOperation[]).map((stored) => {
    const [entry, operationId, sequence, plannedStart] = stored;
    const operation: AssignedOperation = { entry, operationId };
    if (sequence !== null) operation.sequence = sequence;
    if (plannedStart !== null) operation.plannedStart = plannedStart;
    return operation;
  });
}
