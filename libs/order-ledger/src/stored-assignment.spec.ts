import fc from 'fast-check';
import { type AssignedOperation } from './assigned-operation.js';
import {
  assignmentKey,
  fromStoredAssignment,
  placeOfKey,
  toStoredAssignment,
} from './stored-assignment.js';

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
