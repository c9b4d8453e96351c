import { type AssignedOperation } from './assigned-operation.js';
import {
  deriveAssignments,
  keyOf,
  placeOf,
  positionInLog,
  type StoredAssignment,
  WATERMARK,
} from './derive-assignments.js';

const operation: AssignedOperation = { entry: '4711', operationId: '0010' };
const source = { topic: 'orders', partition: 0, offset: 1, messageId: null };

const offered = (position: number, orderId: string, operations: AssignedOperation[]) => ({
  position,
  change: { machineId: 'M-1', orders: [{ orderId, operations }], source },
});

describe('what changes bring to the assignments of a partition', () => {
  const derive = (
    stored: Record<string, StoredAssignment>,
    ...changes: ReturnType<typeof offered>[]
  ) => deriveAssignments((key) => stored[key], changes);

  it('is what they say, and up to where they are in', () => {
    const { changes, applied } = derive(
      {},
      offered(3, '4711', [operation]),
      offered(5, '4712', []),
    );
    expect(changes).toEqual([
      [keyOf('M-1', '4711'), [operation]],
      [WATERMARK, 5],
    ]);
    expect(applied).toHaveLength(2);
  });

  it('is forgotten where the order leaves the machine', () => {
    const stored = { [keyOf('M-1', '4711')]: [operation] };
    expect(derive(stored, offered(3, '4711', [])).changes[0]).toEqual([keyOf('M-1', '4711'), null]);
  });

  it('is nothing when an order comes and goes at once', () => {
    const { changes } = derive({}, offered(3, '4711', [operation]), offered(4, '4711', []));
    expect(changes).toEqual([[WATERMARK, 4]]);
  });

  it('is nothing for those that are in already', () => {
    const stored = { [WATERMARK]: 5 };
    const again = [offered(4, '4711', [operation]), offered(5, '4711', [operation])];
    expect(derive(stored, ...again)).toEqual({ changes: [], applied: [] });
    expect(derive(stored, ...again, offered(6, '4712', [operation])).applied).toHaveLength(1);
  });
});

describe('where a change lies', () => {
  it('is known of those of one record as well, with offsets of many years', () => {
    const offset = 2 ** 43 - 1;
    const last = positionInLog(offset, 31);
    expect(positionInLog(offset, 0)).toBe(offset);
    expect(last).toBeGreaterThan(positionInLog(offset, 30));
    expect(last).toBeLessThan(positionInLog(offset + 1, 0));
    expect(JSON.parse(JSON.stringify(last))).toBe(last);
  });
});

describe('the key of an assignment', () => {
  it('tells machine and order apart, whatever they are called', () => {
    expect(placeOf(keyOf('M-1', '47/11'))).toEqual({ machineId: 'M-1', orderId: '47/11' });
    expect(placeOf(WATERMARK)).toBeUndefined();
  });
});
