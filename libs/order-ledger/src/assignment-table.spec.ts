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
/** What of one of a few orders stands on the machine from now on, and whether its list is asked for then. */
const step = fc.record({
  orderId: fc.oneof(fc.constantFrom('4711', '4712', '4713'), fc.nat(20).map(String)),
  operations: fc.uniqueArray(operation, { maxLength: 3, selector: (each) => each.operationId }),
  isAskedFor: fc.boolean(),
});
const steps = fc.array(step, { maxLength: 40, size: 'max' });

/** The list of what is stored, drawn at once. */
function listOf(stored: ReadonlyMap<string, readonly AssignedOperation[]>): string[] {
  const all = [...stored].flatMap(([orderId, operations]) =>
    operations.map((each) => [orderId, each] as const),
  );
  return all.sort(inWorkingOrder).map(([, { entry }]) => entry);
}

describe("a machine's list", () => {
  it('is that of what is stored, however it came about and whenever it was asked for', () => {
    fc.assert(
      fc.property(steps, steps, (restored, changes) => {
        const stored = new Map<string, readonly AssignedOperation[]>();
        const table = new AssignmentTable((_machineId, orderId) => stored.get(orderId) ?? []);
        for (const { orderId, operations } of restored) {
          if (operations.length > 0) stored.set(orderId, operations);
        }
        for (const orderId of stored.keys()) table.stands('M-1', orderId);
        for (const { orderId, operations, isAskedFor } of changes) {
          const before = stored.get(orderId) ?? [];
          stored.set(orderId, operations);
          table.changed('M-1', orderId, before, operations);
          if (isAskedFor) expect(table.listOf('M-1')).toEqual(listOf(stored));
        }
        expect(table.listOf('M-1')).toEqual(listOf(stored));
        expect(table.size).toBe(listOf(stored).length > 0 ? 1 : 0);
      }),
    );
  });

  it('is read from what is stored once', () => {
    const read: string[] = [];
    const table = new AssignmentTable((_machineId, orderId) => {
      read.push(orderId);
      return [{ entry: orderId, operationId: '0010' }];
    });
    table.stands('M-1', '4711');
    expect(table.listOf('M-1')).toEqual(['4711']);
    table.changed('M-1', '4710', [], [{ entry: '4710', operationId: '0010' }]);
    expect(table.listOf('M-1')).toEqual(['4710', '4711']);
    expect(read).toEqual(['4711']);
  });
});

const anOperation: fc.Arbitrary<AssignedOperation> = fc.record(
  { entry: fc.string(), operationId: fc.string(), sequence: fc.nat(), plannedStart: fc.nat() },
  { requiredKeys: ['entry', 'operationId'], noNullPrototype: true },
);

describe('an assignment as it is stored', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(fc.array(anOperation), (assignment) => {
        const text = JSON.stringify(toStoredAssignment(assignment));
        expect(fromStoredAssignment(JSON.parse(text))).toEqual(assignment);
      }),
    );
  });

  it.each([null, 'text', 7, {}, [1], [{}]])('is nothing the bridge has not stored: %j', (json) => {
    expect(fromStoredAssignment(json)).toBeUndefined();
  });

  it('lies under its machine and order', () => {
    const place = { machineId: 'M-1', orderId: '4711' };
    expect(placeOfKey(assignmentKey(place.machineId, place.orderId))).toEqual(place);
    expect(placeOfKey('\u0000watermark')).toBeUndefined();
  });
});
