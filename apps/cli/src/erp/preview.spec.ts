import type { OperationChange } from '#libs/contracts';
import { EquipmentMap } from '#libs/erp-formats';
import { clockIn, documentLines } from './preview.js';

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

describe('the clock of a zone', () => {
  it.each([
    ['UTC', '2023-12-04T00:00:00Z', '2023-12-04T00:00:00Z'],
    ['Europe/London', '2023-12-04T12:00:00Z', '2023-12-04T12:00:00Z'],
    ['Europe/Berlin', '2023-12-04T05:00:00Z', '2023-12-04T06:00:00+01:00'],
    ['Europe/Berlin', '2023-07-04T04:00:00Z', '2023-07-04T06:00:00+02:00'],
    ['Europe/Berlin', '2023-12-03T23:00:00Z', '2023-12-04T00:00:00+01:00'],
    ['America/Denver', '2024-01-01T03:04:05Z', '2023-12-31T20:04:05-07:00'],
    ['Asia/Kathmandu', '2023-12-04T06:15:00Z', '2023-12-04T12:00:00+05:45'],
  ])('in %s shows %s as %s', (timeZone, instant, shown) => {
    expect(clockIn(timeZone)(Date.parse(instant) / 1000)).toBe(shown);
  });
});
