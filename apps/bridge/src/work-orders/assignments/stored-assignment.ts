import { type AssignedOperation } from './assigned-operation.js';
import { type StoredAssignment } from './derive-assignments.js';

/** An operation without the fields' names, which would be more than all the rest. */
type StoredOperation = [
  entry: string,
  operationId: string,
  sequence: number | null,
  plannedStart: number | null,
];

export function toStored(assignment: StoredAssignment): StoredOperation[] | number {
  if (typeof assignment === 'number') return assignment;
  return assignment.map(({ entry, operationId, sequence = null, plannedStart = null }) => {
    return [entry, operationId, sequence, plannedStart];
  });
}

/** Reads what the bridge itself has stored; undefined for what it has not. */
export function fromStored(json: unknown): StoredAssignment | undefined {
  if (typeof json === 'number') return json;
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
