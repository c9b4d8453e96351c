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
  /** In working order, as when the list was asked for last; undefined before the first time. */
  drawn: ListedOperation[] | undefined;
  /** What of an order stands there now, where that is not what was drawn. */
  readonly changed: Map<string, readonly AssignedOperation[]>;
  /** Something of these may be drawn. */
  hasReplaced: boolean;
  /** Of what is drawn, with nothing changed since. */
  list: readonly string[] | undefined;
}

const NO_ORDERS: readonly string[] = [];
/** So many orders are put in among the others one by one. */
const FEW = 8;

/**
 * Which orders stand on which machine, and the list that makes of each. Once a machine's list has been
 * drawn it is kept up with what changes: to draw it from what is stored means to read all its orders.
 */
export class AssignmentTable {
  private readonly machines = new Map<string, MachineAssignments>();

  /** @param operationsOf what of an order stands on a machine, with all changes reported by {@link changed} */
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

  /** As restored, before any list is asked for: something of the order stands on the machine. */
  stands(machineId: string, orderId: string): void {
    this.machineOf(machineId, undefined).orderIds.add(orderId);
  }

  /** What of the order stands on the machine has changed; or nothing of it does any more. */
  changed(machineId: string, orderId: string, operations: readonly AssignedOperation[]): void {
    if (operations.length === 0 && !this.machines.has(machineId)) return;
    const machine = this.machineOf(machineId, []);
    machine.list = undefined;
    if (machine.drawn !== undefined) {
      machine.changed.set(orderId, operations);
      machine.hasReplaced ||= machine.orderIds.has(orderId);
    }
    if (operations.length > 0) machine.orderIds.add(orderId);
    else machine.orderIds.delete(orderId);
    if (machine.orderIds.size === 0) this.machines.delete(machineId);
  }

  /** Work order identifiers in the order they are to be worked on. */
  listOf(machineId: string): readonly string[] {
    const machine = this.machines.get(machineId);
    if (machine === undefined) return NO_ORDERS;
    machine.list ??= this.drawn(machineId, machine).map(([, { entry }]) => entry);
    return machine.list;
  }

  private machineOf(machineId: string, drawn: MachineAssignments['drawn']): MachineAssignments {
    let machine = this.machines.get(machineId);
    if (machine === undefined) {
      const changed = new Map<string, readonly AssignedOperation[]>();
      machine = { orderIds: new Set(), drawn, changed, hasReplaced: false, list: undefined };
      this.machines.set(machineId, machine);
    }
    return machine;
  }

  private drawn(machineId: string, machine: MachineAssignments): readonly ListedOperation[] {
    const { drawn, orderIds, changed, hasReplaced } = machine;
    if (drawn === undefined) machine.drawn = this.drawAll(machineId, orderIds);
    else {
      const left = hasReplaced ? drawn.filter(([orderId]) => !changed.has(orderId)) : drawn;
      machine.drawn = redrawn(left, changed);
    }
    changed.clear();
    machine.hasReplaced = false;
    return machine.drawn;
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

/** What is drawn, with what has changed put in among it: to sort all anew would take several times as long. */
function redrawn(
  all: ListedOperation[],
  changed: ReadonlyMap<string, readonly AssignedOperation[]>,
): ListedOperation[] {
  for (const [orderId, operations] of changed) {
    for (const operation of operations) {
      if (changed.size > FEW) all.push([orderId, operation]);
      else insert(all, [orderId, operation]);
    }
  }
  return changed.size > FEW ? all.sort(inWorkingOrder) : all;
}

function insert(all: ListedOperation[], listed: ListedOperation): void {
  let [from, to] = [0, all.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const there = all[middle];
    if (there !== undefined && inWorkingOrder(there, listed) <= 0) from = middle + 1;
    else to = middle;
  }
  all.splice(from, 0, listed);
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

/** The key under which is kept what of an order stands on a machine. */
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
