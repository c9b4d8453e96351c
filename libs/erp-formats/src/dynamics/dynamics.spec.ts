import { epochSeconds, fixture, readMessages } from '../../test/read-messages.js';

const OPERATION = {
  ProductionOrderNumber: 'P7',
  OperationNumber: 10,
  CostingOperationResourceId: 'FR01',
};
const order = (more: object = {}): object => ({
  ProductionOrderNumber: 'P7',
  ProductionOrderStatus: 'Released',
  ProdutionOrderRouteOperations: [OPERATION],
  ...more,
});
const withOperation = (more: object): object =>
  order({ ProdutionOrderRouteOperations: [{ ...OPERATION, ...more }] });
const read = (value: unknown, recordedAt = 17) =>
  readMessages(JSON.stringify(value), { recordedAt, timeZone: 'Europe/Berlin' });

describe('a production order of Dynamics 365', () => {
  it.each([
    ['StartedUp', 'started'],
    ['ReportedFinished', 'completed'],
  ])('that is %s has operations that are %s', (ProductionOrderStatus, status) => {
    const [message] = read(order({ ProductionOrderStatus }));
    expect(message?.order.operations).toMatchObject([{ status }]);
  });

  it.each([
    [{ IsOperationStarted: 'Yes', IsOperationCompleted: 'No' }, 'started'],
    [{ IsOperationStarted: 'No', IsOperationCompleted: 'No' }, 'released'],
    [{ IsOperationStarted: 'Yes', IsOperationCompleted: 'Yes' }, 'completed'],
  ])('has operations with a status of their own: %j', (fields, status) => {
    expect(read(withOperation(fields))[0]?.order.operations).toMatchObject([{ status }]);
  });

  it.each([
    [{ ScheduledFromDate: '1900-01-01T12:00:00Z', ScheduledFromTime: 0 }, undefined],
    [{ ScheduledFromDate: '2024-03-20T12:00:00Z' }, '2024-03-20T00:00:00+01:00'],
    [
      { ScheduledFromDate: '2024-07-20T12:00:00Z', ScheduledFromTime: 86_399 },
      '2024-07-20T23:59:59+02:00',
    ],
    [
      { ScheduledFromDate: '2024-03-20T12:00:00Z', ScheduledFromTime: 86_400 },
      '2024-03-21T00:00:00+01:00',
    ],
  ])('begins at the second of the day at the plant: %j', (fields, start) => {
    const [message] = read(withOperation(fields));

    expect(message?.order.operations?.[0]?.plannedStart).toBe(start && epochSeconds(start));
  });

  it('has simultaneous operations with the same number', () => {
    const secondary = { OperationPriority: 'Secondary1', CostingOperationResourceId: 'ROBOT' };
    const operations = [
      { ...OPERATION, OperationPriority: 'Primary' },
      { ...OPERATION, ...secondary },
    ];
    const expected = [
      { operationId: '10', workCentre: 'FR01' },
      { operationId: '10/Secondary1', workCentre: 'ROBOT' },
    ];
    const [whole] = read(order({ ProdutionOrderRouteOperations: operations }));
    expect(whole?.order.operations).toMatchObject(expected);
    expect(read({ value: operations })[0]?.order.operations).toEqual(expected);
  });

  it('may be sent as operations alone, which change it', () => {
    expect(read({ value: [OPERATION, { ...OPERATION, OperationNumber: 20 }] })).toEqual([
      {
        kind: 'change',
        order: {
          orderId: 'P7',
          changedAt: 17,
          operations: [
            { operationId: '10', workCentre: 'FR01' },
            { operationId: '20', workCentre: 'FR01' },
          ],
        },
      },
    ]);
  });

  it.each([
    [
      'operations without a status',
      order({ ProductionOrderStatus: null }),
      'ProductionOrderStatus is missing',
    ],
    [
      'an answer that is neither yes nor no',
      withOperation({ IsOperationStarted: 'Maybe' }),
      'ProdutionOrderRouteOperations[0].IsOperationStarted is no known status: Maybe',
    ],
    [
      'a start that is none',
      withOperation({ ScheduledFromDate: '2024-02-30T12:00:00Z' }),
      'ProdutionOrderRouteOperations[0].ScheduledFromDate and ScheduledFromTime are no day',
    ],
    [
      'seconds beyond the day',
      withOperation({ ScheduledFromDate: '2024-03-20', ScheduledFromTime: 86_401 }),
      'ScheduledFromTime are no day and seconds of it',
    ],
  ])('with %s is refused', (_name, document, why) => {
    expect(() => read(document)).toThrow(why);
    expect(() => read(document)).toThrow('invalid-message: Dynamics 365 production orders: ');
  });
});

describe('a business event of Dynamics 365', () => {
  const EVENT = JSON.parse(fixture('dynamics-business-event.json').toString()) as object;

  it.each([
    ['as it is', EVENT, 'the document'],
    ['in an event of Event Grid', { id: '1', subject: '', data: EVENT }, 'data'],
  ])('only names its order, and is refused with what is missing: %s', (_name, document, where) => {
    const lacks = 'ProductionOrderStatus and ProdutionOrderRouteOperations are missing';

    expect(() => read(document)).toThrow(
      `Dynamics 365 production orders: ${where} only names an order: ${lacks}`,
    );
  });

  it('about another object is refused too', () => {
    expect(() => read({ BusinessEventId: 'VendorInvoicePosted' })).toThrow(
      'Dynamics 365 production orders: ProductionOrderNumber is missing',
    );
  });
});
