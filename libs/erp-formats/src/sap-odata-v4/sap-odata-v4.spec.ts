import { epochSeconds, fixture, readMessages, readSnapshots } from '../../test/read-messages.js';

const OPERATION = { ProductionOrder: '7', ProductionOrderOperation: '0010', WorkCenter: 'FR01' };
const order = (more: object = {}): object => ({
  ProductionOrder: '7',
  LastChangeDateTime: '2024-03-18T09:15:02Z',
  OrderActualReleaseDate: '2024-03-18',
  _Operation: [OPERATION],
  ...more,
});
const read = (value: unknown, recordedAt = 17) =>
  readMessages(JSON.stringify(value), { recordedAt, timeZone: 'Europe/Berlin' });

describe('a production order of CE_PRODUCTIONORDER_0001', () => {
  it('is a whole order, with all operations that have a work centre', () => {
    const document = fixture('sap-odata-v4-production-order.json');

    expect(readSnapshots(document, { timeZone: 'Europe/Berlin' })).toEqual([
      {
        orderId: '1000301',
        changedAt: epochSeconds('2024-03-18T09:15:02Z'),
        status: 'released',
        operations: [
          {
            operationId: '0010',
            plant: '1000',
            workCentre: 'FR01',
            status: 'released',
            plannedStart: epochSeconds('2024-03-20T06:00:00+01:00'),
          },
          { operationId: '0010/1', plant: '1000', workCentre: 'DR01', status: 'released' },
        ],
      },
    ]);
  });

  it.each([
    [{ OrderActualReleaseDate: null }, 'planned'],
    [{ OrderActualReleaseDate: '0001-01-01' }, 'planned'],
    [{}, 'released'],
    [{ OrderActualStartDate: '2024-03-19' }, 'started'],
    [{ OrderActualStartDate: '2024-03-19', OrderActualEndDate: '2024-03-20' }, 'started'],
    [{ TechnicalCompletionDate: '2024-03-21' }, 'completed'],
    [{ TechnicalCompletionDate: '2024-03-21', IsMarkedForDeletion: true }, 'cancelled'],
    [{ OrderIsLocked: true }, 'held'],
  ])('with %j is %s', (fields, status) => {
    const [message] = read(order(fields));

    expect(message?.order).toMatchObject({ status, operations: [{ status }] });
  });

  it('without its operations changes its status', () => {
    const header = { ProductionOrder: '0007', OrderActualReleaseDate: '2024-03-18' };

    expect(read({ value: [header] })).toEqual([
      { kind: 'change', order: { orderId: '7', changedAt: 17, status: 'released' } },
    ]);
  });

  it('may have a deleted operation beside another with its number', () => {
    const deleted = { ...OPERATION, WorkCenter: 'FR02', OperationIsDeleted: true };
    const [message] = read(order({ _Operation: [deleted, OPERATION] }));

    expect(message?.order.operations).toMatchObject([{ operationId: '0010', workCentre: 'FR01' }]);
  });

  it('has the latest start of an operation where the earliest is not set', () => {
    const starts = {
      OpErlstSchedldExecStrtDte: '0001-01-01',
      OpErlstSchedldExecStrtTme: '00:00:00',
      OpLtstSchedldExecStrtDte: '2024-03-20',
      OpLtstSchedldExecStrtTme: '06:00:00',
    };
    const [message] = read(order({ _Operation: [{ ...OPERATION, ...starts }] }));

    expect(message?.order.operations).toMatchObject([
      { plannedStart: epochSeconds('2024-03-20T06:00:00+01:00') },
    ]);
  });

  it.each(['_Operation', '_ProductionOrderOperation'])('has its operations in %s', (name) => {
    const { _Operation, ...header } = order() as { _Operation: object[] };

    expect(read({ ...header, [name]: _Operation })[0]?.order.operations).toHaveLength(1);
  });

  it.each([
    [
      'no operation number',
      order({ _Operation: [{ WorkCenter: 'FR01' }] }),
      '_Operation[0].ProductionOrderOperation is missing',
    ],
    [
      'a time that is none',
      order({ LastChangeDateTime: 'now' }),
      'LastChangeDateTime is no date and time',
    ],
    [
      'a date that is none',
      order({ TechnicalCompletionDate: '2024-02-30' }),
      'TechnicalCompletionDate is no date and time',
    ],
  ])('with %s is refused, with the place', (_name, document, why) => {
    expect(() => read(document)).toThrow(`SAP production orders of OData V4: ${why}`);
  });
});

describe('operations of CE_PRODUCTIONORDER_0001 without their order', () => {
  it('are a change of each order, with the time of the record', () => {
    const other = { ...OPERATION, ProductionOrder: '8', Plant: '1000', OperationIsConfirmed: 'X' };

    expect(read({ value: [OPERATION, other] })).toEqual([
      {
        kind: 'change',
        order: {
          orderId: '7',
          changedAt: 17,
          operations: [{ operationId: '0010', workCentre: 'FR01' }],
        },
      },
      {
        kind: 'change',
        order: {
          orderId: '8',
          changedAt: 17,
          operations: [
            { operationId: '0010', workCentre: 'FR01', plant: '1000', status: 'completed' },
          ],
        },
      },
    ]);
  });
});

describe('a document that only names an order', () => {
  it.each([
    ['an event', { ProductionOrder: '7', ProductionOrderType: 'PP01' }],
    [
      'an item, whose deletion flag is its own',
      { ProductionOrder: '7', ProductionOrderItem: '1', IsMarkedForDeletion: true },
    ],
    ['a header without its dates', { ProductionOrder: '7', IsMarkedForDeletion: false }],
  ])('is refused with what is missing: %s', (_name, document) => {
    expect(() => read(document)).toThrow(
      'the document only names an order: OrderActualReleaseDate and _ProductionOrderOperation are missing',
    );
  });
});
