import { type AssignedOperation } from './assigned-operation.js';

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
  return (json as unknown as StoredOperation[]).map(fromStoredOperation);
}

function fromStoredOperation([
  entry,
  operationId,
  sequence,
  plannedStart,
]: StoredOperation): AssignedOperation {
  const operation: AssignedOperation = { entry, operationId };
  if (sequence !== null) operation.sequence = sequence;
  if (plannedStart !== null) operation.plannedStart = plannedStart;
  return operation;
}
