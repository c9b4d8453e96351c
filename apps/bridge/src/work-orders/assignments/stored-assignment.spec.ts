import fc from 'fast-check';
import { type AssignedOperation } from './assigned-operation.js';
import { fromStored, toStored } from './stored-assignment.js';

const anOperation: fc.Arbitrary<AssignedOperation> = fc.record(
  { entry: fc.string(), operationId: fc.string(), sequence: fc.nat(), plannedStart: fc.nat() },
  { requiredKeys: ['entry', 'operationId'], noNullPrototype: true },
);

describe('an assignment as it is stored', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(), fc.array(anOperation)), (assignment) => {
        const text = JSON.stringify(toStored(assignment));
        expect(fromStored(JSON.parse(text))).toEqual(assignment);
      }),
    );
  });

  it.each([null, 'text', {}, [1], [{}]])('is nothing the bridge has not stored: %j', (json) => {
    expect(fromStored(json)).toBeUndefined();
  });
});
