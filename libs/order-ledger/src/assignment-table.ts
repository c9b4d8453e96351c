/** An operation on a machine's list, under the name it has there. */
export interface AssignedOperation {
  entry: string;
  operationId: string;
  /** 1 or more; without one it comes last. */
  sequence?: number;
  /** Epoch seconds; without one it comes last. */
  plannedStart?: number;
}

type ListedOperation = readonly [orderId: string, AssignedOperation];

interface MachineAssignments {
  readonly orderIds: Set<string>;
  /** In working order; undefined until the list is asked for. */
  drawn: ListedOperation[] | undefined;
  /** The list as drawn, while nothing has changed since. */
  list: readonly string[] | undefined;
}

const NO_ORDERS: readonly string[] = [];

/** What of an order stands on a machine, by {@link assignmentKey}. */
interface AssignmentStore<R> {
  get: (key: string) => readonly AssignedOperation[] | undefined;
  keys: () => Iterable<string>;
  /** Forgets what is null. Returns the record of the change. */
  put: (key: string, operations: readonly AssignedOperation[] | null) => R;
}

/**
 * Which orders stand on which machine, and the list that makes of each. Once a machine's list has been
 * drawn it is kept up with what changes: to draw it from what is stored means to read all its orders.
 */
export class AssignmentTable<R = void> {
  private readonly machines = new Map<string, MachineAssignments>();

  /** @param store changed by the table alone */
  constructor(private readonly store: AssignmentStore<R>) {
    for (const key of store.keys()) {
      const place = placeOfKey(key);
      if (place === undefined) continue;
      this.machineOf(place.machineId, undefined).orderIds.add(place.orderId);
    }
  }

  static inMemory(): AssignmentTable {
    const stored = new Map<string, readonly AssignedOperation[]>();
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
   * Puts what of the order stands on the machine from now on, which may be nothing. Returns what did before, and the
   * record of the change; undefined where nothing has changed.
   */
  assign(
    machineId: string,
    orderId: string,
    operations: readonly AssignedOperation[],
  ): { before: readonly AssignedOperation[]; record: R } | undefined {
    const before = this.operationsOf(machineId, orderId);
    if (before.length === 0 && operations.length === 0) return undefined;
    const key = assignmentKey(machineId, orderId);
    const record = this.store.put(key, operations.length > 0 ? operations : null);
    const machine = this.machineOf(machineId, []);
    const { drawn, orderIds } = machine;
    machine.list = undefined;
    if (drawn !== undefined) {
      const others = drawn.filter(([id]) => id !== orderId);
      const its = operations.map((each): ListedOperation => [orderId, each]);
      machine.drawn = [...others, ...its].sort(inWorkingOrder);
    }
    if (operations.length > 0) orderIds.add(orderId);
    else orderIds.delete(orderId);
    if (orderIds.size === 0) this.machines.delete(machineId);
    return { before, record };
  }

  /** Work order identifiers in the order they are to be worked on. */
  listOf(machineId: string): readonly string[] {
    const machine = this.machines.get(machineId);
    if (machine === undefined) return NO_ORDERS;
    machine.drawn ??= this.drawAll(machineId, machine.orderIds);
    machine.list ??= machine.drawn.map(([, { entry }]) => entry);
    return machine.list;
  }

  private machineOf(machineId: string, drawn: MachineAssignments['drawn']): MachineAssignments {
    let machine = this.machines.get(machineId);
    if (machine === undefined) {
      machine = { orderIds: new Set(), drawn, list: undefined };
      this.machines.set(machineId, machine);
    }
    return machine;
  }

  private drawAll(machineId: string, orderIds: ReadonlySet<string>): ListedOperation[] {
    const drawn: ListedOperation[] = [];
    for (const orderId of orderIds) {
      for (const operation of this.operationsOf(machineId, orderId)) {
        drawn.push([orderId, operation]);
      }
    }
    return drawn.sort(inWorkingOrder);
  }
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

/** What stands between the ids of a key: no id holds control characters. */
const BETWEEN = '\u0000';

export function assignmentKey(machineId: string, orderId: string): string {
  return `${machineId}${BETWEEN}${orderId}`;
}

/** Machine and order of a key; undefined for one that is none, as earlier versions have kept. */
export function placeOfKey(key: string): { machineId: string; orderId: string } | undefined {
  const end = key.indexOf(BETWEEN);
  if (end < 1) return undefined;
  return { machineId: key.slice(0, end), orderId: key.slice(end + 1) };
}

/** An operation without the fields' names, which would be more than all the rest. */
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

/** Reads what the bridge itself has stored; undefined for what it has not. */
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
