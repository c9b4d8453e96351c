import { isDeepStrictEqual } from 'node:util';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import {
  type AssignedOperation,
  assignmentKey,
  AssignmentTable,
  fromStoredAssignment,
  inWorkingOrder,
  placeOfKey,
  toStoredAssignment,
} from './assignment-table.js';

const operation = fc.record({
  entry: fc.string(),
  operationId: fc.constantFrom('0010', '0020', '0030'),
  sequence: fc.integer({ min: 1, max: 3 }),
  plannedStart: fc.integer({ min: 1, max: 3 }),
});
/** The operations of one of a few orders on the machine, and whether its list is read then. */
const step = fc.record({
  orderId: fc.oneof(fc.constantFrom('4711', '4712', '4713'), fc.nat(20).map(String)),
  operations: fc.uniqueArray(operation, { maxLength: 3, selector: (each) => each.operationId }),
  isAskedFor: fc.boolean(),
});
const steps = fc.array(step, { maxLength: 40, size: 'max' });

type Stored = Map<string, readonly AssignedOperation[]>;

function listOf(stored: Stored): string[] {
  const all = [...stored].flatMap(([key, operations]) =>
    operations.map((each) => [placeOfKey(key)!.orderId, each] as const),
  );
  return all.sort(inWorkingOrder).map(([, { entry }]) => entry);
}

/** Ten thousand assertions would take a second. */
function expectSame(found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected)) expect(found).toEqual(expected);
}

describe("a machine's list", () => {
  it('matches the store after any changes, whenever it was read', () => {
    fc.assert(
      fc.property(steps, steps, (restored, changes) => {
        const stored: Stored = new Map();
        for (const { orderId, operations } of restored) {
          if (operations.length > 0) stored.set(assignmentKey('M-1', orderId), operations);
        }
        const table = AssignmentTable.inMemory(stored);
        for (const { orderId, operations, isAskedFor } of changes) {
          table.assign('M-1', orderId, operations);
          expectSame(table.operationsOf('M-1', orderId), operations);
          if (isAskedFor) expectSame(table.listOf('M-1'), listOf(stored));
        }
        expect(table.listOf('M-1')).toEqual(listOf(stored));
        expect(table.size).toBe(listOf(stored).length > 0 ? 1 : 0);
      }),
    );
  });

  it('is built from the store once', () => {
    const stored: Stored = new Map();
    stored.set(assignmentKey('M-1', '4711'), [{ entry: '4711', operationId: '0010' }]);
    const read = jest.spyOn(stored, 'get');
    const table = AssignmentTable.inMemory(stored);
    expect(table.listOf('M-1')).toEqual(['4711']);
    table.assign('M-1', '4710', [{ entry: '4710', operationId: '0010' }]);
    expect(table.listOf('M-1')).toEqual(['4710', '4711']);
    expect(read.mock.calls).toEqual(
      ['4711', '4710'].map((orderId) => [assignmentKey('M-1', orderId)]),
    );
  });
});

const anOperation: fc.Arbitrary<AssignedOperation> = fc.record(
  { entry: fc.string(), operationId: fc.string(), sequence: fc.nat(), plannedStart: fc.nat() },
  { requiredKeys: ['entry', 'operationId'], noNullPrototype: true },
);

describe('a stored assignment', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(fc.array(anOperation), (assignment) => {
        const text = JSON.stringify(toStoredAssignment(assignment));
        expect(fromStoredAssignment(JSON.parse(text))).toEqual(assignment);
      }),
    );
  });

  it.each([null, 'text', 7, {}, [1], [{}]])(
    'is undefined for a value that the bridge has not stored: %j',
    (json) => {
      expect(fromStoredAssignment(json)).toBeUndefined();
    },
  );

  it('has its machine and order as key', () => {
    const place = { machineId: 'M-1', orderId: '4711' };
    expect(placeOfKey(assignmentKey(place.machineId, place.orderId))).toEqual(place);
    expect(placeOfKey('\u0000watermark')).toBeUndefined();
  });
});
