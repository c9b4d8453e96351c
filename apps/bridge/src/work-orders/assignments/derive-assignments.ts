import { type StateChange } from '#libs/messaging';
import { type AssignedOperation } from './assigned-operation.js';
import { type AssignmentChange } from './assignment-change.js';

/** Of a machine and an order, what is listed; under {@link WATERMARK} the position up to which changes are in. */
export type StoredAssignment = readonly AssignedOperation[] | number;

/** No machine is called this: ids hold no control characters, which is why one may stand between them. */
export const WATERMARK = '\u0000watermark';
const BETWEEN = '\u0000';

export function keyOf(machineId: string, orderId: string): string {
  return `${machineId}${BETWEEN}${orderId}`;
}

/** Machine and order of a key; undefined for the watermark's. */
export function placeOf(key: string): { machineId: string; orderId: string } | undefined {
  const end = key.indexOf(BETWEEN);
  if (end < 1) return undefined;
  return { machineId: key.slice(0, end), orderId: key.slice(end + 1) };
}

/** A change and where it lies in the topic of changes: see {@link positionInLog}. */
export interface OfferedChange {
  position: number;
  change: AssignmentChange;
}

/** Above the most that a record holds, and a power of two: positions are exact up to the offset 2^43. */
const POSITIONS_A_RECORD = 1024;

/** The offset of a record, and a fraction for which of its changes it is; of the first it is the offset itself. */
export function positionInLog(offset: number, index: number): number {
  return offset + index / POSITIONS_A_RECORD;
}

/**
 * What changes bring, in the order of their positions. One at or below the watermark is in already, and
 * may be undone by a later one that is in as well: it must not be applied again.
 */
export function deriveAssignments(
  get: (key: string) => StoredAssignment | undefined,
  offered: readonly OfferedChange[],
): { changes: StateChange<StoredAssignment>[]; applied: AssignmentChange[] } {
  const changed = new Map<string, readonly AssignedOperation[] | null>();
  const applied: AssignmentChange[] = [];
  const stored = get(WATERMARK);
  let watermark = typeof stored === 'number' ? stored : -1;
  for (const { position, change } of offered) {
    if (position <= watermark) continue;
    watermark = position;
    applied.push(change);
    for (const { orderId, operations } of change.orders) {
      const key = keyOf(change.machineId, orderId);
      if (operations.length > 0) changed.set(key, operations);
      else if (get(key) !== undefined) changed.set(key, null);
      else changed.delete(key);
    }
  }
  if (applied.length === 0) return { changes: [], applied };
  return { changes: [...changed, [WATERMARK, watermark]], applied };
}
