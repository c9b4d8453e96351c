import { epochSeconds, readMessages } from '../../test/read-messages.js';

const OPERATION = { OperationSequenceNumber: 10, WorkCenterCode: 'FR01' };
const order = (more: object = {}): object => ({
  WorkOrderNumber: 'W-7',
  WorkOrderSystemStatusCode: 'ORA_RELEASED',
  WorkOrderOperation: [OPERATION],
  ...more,
});
const read = (value: unknown, recordedAt = 17) =>
  readMessages(JSON.stringify(value), { recordedAt });

describe('a work order of Oracle Fusion', () => {
  it('has the time of its last update where that is included', () => {
    const LastUpdateDate = '2024-03-18T09:15:02.123+00:00';

    expect(read(order({ LastUpdateDate }))[0]?.order.changedAt).toBe(
      epochSeconds('2024-03-18T09:15:02Z'),
    );
  });

  it.each(['2024-03-18T09:15:02+24:00', '2024-03-18T09:15:02-01:60'])(
    'is refused with an offset that no zone has: %s',
    (LastUpdateDate) => {
      expect(() => read(order({ LastUpdateDate }))).toThrow('LastUpdateDate is no date and time');
    },
  );

  it.each([
    [{ WorkOrderSystemStatusCode: 'RELEASED' }, 'released'],
    [{ WorkOrderSystemStatusCode: null, WorkOrderStatusCode: 'ON_HOLD' }, 'held'],
    [{ WorkOrderSystemStatusCode: 'ORA_COMPLETED' }, 'completed'],
    [{ WorkOrderSystemStatusCode: null, WorkOrderStatusCode: 'ORA_CANCELED' }, 'cancelled'],
  ])('with %j is %s, and so are its operations', (codes, status) => {
    const expected = { status, operations: [{ status }] };
    expect(read(order(codes))[0]?.order).toMatchObject(expected);
  });

  it('has the system status where its own status is customer-defined', () => {
    expect(read(order({ WorkOrderStatusCode: 'WAITING_FOR_TOOL' }))[0]?.order.status).toBe(
      'released',
    );
  });

  it.each([
    [
      'a further page of operations',
      order({ WorkOrderOperation: { items: [OPERATION], hasMore: true } }),
      'WorkOrderOperation.hasMore leads to a further page',
    ],
    [
      'half an operation',
      order({ WorkOrderOperation: [{ ...OPERATION, OperationSequenceNumber: 10.5 }] }),
      'WorkOrderOperation[0].OperationSequenceNumber must be text, not a number',
    ],
    [
      'its number alone, as in an event',
      { WorkOrderNumber: 'W-7', WorkOrderId: 3, OrganizationCode: '1000', EventType: 'CREATE' },
      'the document only names an order: WorkOrderSystemStatusCode and WorkOrderOperation are missing',
    ],
  ])('with %s is refused', (_name, document, why) => {
    expect(() => read(document)).toThrow(`invalid-message: Oracle Fusion work orders: ${why}`);
  });
});
