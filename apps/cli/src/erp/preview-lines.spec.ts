import { type OperationChange } from '#libs/contracts';
import { EquipmentMap } from '#libs/erp-formats';
import { documentLines } from './preview-lines.js';

describe('the lines of a previewed document', () => {
  const linesOf = (timeZone: string, ...operations: OperationChange[]) => {
    const order = { orderId: '4711', changedAt: 1_701_666_000, operations };
    return documentLines(
      { messages: [{ kind: 'change', order }], machineIds: [], rejections: [], superseded: [] },
      { equipmentMap: EquipmentMap.empty(), timeZone },
    );
  };
  const operation = { operationId: '10', status: 'released', machineId: 'M-1' } as const;

  it('show the sequence and the planned start of an operation in the zone of the ERP', () => {
    expect(
      linesOf('Europe/Berlin', { ...operation, sequence: 3, plannedStart: 1_701_669_600 }),
    ).toEqual([
      '  change of order 4711: status as before, changed 2023-12-04T06:00:00+01:00',
      '    10: released on M-1, sequence 3, planned start 2023-12-04T07:00:00+01:00',
      '  no list would be set',
    ]);
  });

  it('show neither where there is none, nor a sequence that does not count', () => {
    expect(linesOf('UTC', operation, { ...operation, operationId: '20', sequence: 0 })).toEqual([
      '  change of order 4711: status as before, changed 2023-12-04T05:00:00Z',
      '    10: released on M-1',
      '    20: released on M-1',
      '  no list would be set',
    ]);
  });
});
