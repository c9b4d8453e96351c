import fc from 'fast-check';

import { applyOrderMessage } from '#libs/order-ledger';

import { epochSeconds, fixture, readMessages, readSnapshots } from '../../test/read-messages.js';

const OPERATION = {
  ManufacturingOrderOperation: '0010',
  WorkCenter: 'SAW_1',
  ProductionPlant: '1710',
  OperationIsReleased: 'X',
};
const header = (more: object = {}): object => ({
  ManufacturingOrder: '1000234',
  OrderIsReleased: 'X',
  LastChangeDateTime: '20240318091502',
  to_ProductionOrderOperation: [OPERATION],
  ...more,
});
const read = (value: unknown) =>
  readSnapshots(JSON.stringify(value), { timeZone: 'Europe/Berlin' });
const operationsOf = (operations: object) =>
  read(header({ to_ProductionOrderOperation: operations }))[0]?.operations ?? [];

describe('production orders of OData V2 with their operations', () => {
  const orders = readSnapshots(fixture('sap-odata-v2-expanded.json'), {
    timeZone: 'America/Chicago',
  });

  it('are whole orders, with dates and times in the zone of the plant', () => {
    expect(orders[0]).toEqual({
      orderId: '1000234',
      changedAt: epochSeconds('2024-03-18T09:15:02Z'),
      status: 'released',
      operations: [
        {
          operationId: '0010',
          plant: '1710',
          workCentre: 'SAW_1',
          status: 'completed',
          plannedStart: epochSeconds('2024-03-20T06:00:00-05:00'),
        },
        {
          operationId: '0020',
          plant: '1720',
          workCentre: 'MILL_4',
          status: 'started',
          plannedStart: epochSeconds('2024-03-21T00:00:00-05:00'),
        },
        {
          operationId: '0020-0005/1',
          plant: '1710',
          workCentre: 'MILL_4',
          status: 'released',
          plannedStart: epochSeconds('2024-03-21T13:30:00-05:00'),
        },
      ],
    });
  });

  it('that are technically completed complete their operations', () => {
    expect(orders[1]).toMatchObject({
      orderId: '1000235',
      changedAt: epochSeconds('2024-03-18T09:15:02Z'),
      status: 'completed',
      operations: [{ status: 'completed' }],
    });
  });

  it('may be process orders, with other names for operations and statuses', () => {
    const order = {
      ManufacturingOrder: '1003463',
      OrderIsReleased: 'X',
      LastChangeDateTime: '20240318091502',
      to_ProcessOrderStatus: { results: [{ StatusCode: 'I0043' }] },
      to_ProcessOrderOperation: { results: [OPERATION] },
    };

    expect(read({ d: order })).toMatchObject([
      { status: 'held', operations: [{ operationId: '0010', status: 'held' }] },
    ]);
    const paged = { results: [OPERATION], __next: 'skiptoken' };
    expect(() => read({ d: { ...order, to_ProcessOrderOperation: paged } })).toThrow(
      'd.to_ProcessOrderOperation.__next leads to a further page',
    );
  });

  it('may have a deleted operation beside another with its number', () => {
    const deleted = { ...OPERATION, WorkCenter: 'MILL_4', OperationIsDeleted: 'X' };
    expect(operationsOf([deleted, OPERATION])).toMatchObject([
      { operationId: '0010', workCentre: 'SAW_1' },
    ]);
  });
});

describe('a production order', () => {
  it.each([
    ['by itself', (order: object) => order],
    ['in V2', (order: object) => ({ d: order })],
    ['in a list of V2', (order: object) => ({ d: { results: [order] } })],
    ['in an old list of V2', (order: object) => ({ d: [order] })],
    ['in V4', (order: object) => ({ '@odata.context': '$metadata', value: [order] })],
    ['in results', (order: object) => ({ results: [order] })],
    ['in a list', (order: object) => [order]],
  ])('is found %s', (_name, wrap) => {
    expect(read(wrap(header())).map(({ orderId }) => orderId)).toEqual(['1000234']);
  });

  it('is read in the notation of V4 too', () => {
    const operation = {
      ManufacturingOrderOperation_2: '0010',
      WorkCenter: 'SAW_1',
      OperationIsReleased: true,
      OpErlstSchedldExecStrtDte: '2024-07-20',
      OpErlstSchedldExecStrtTme: '06:00:00',
    };
    const order = {
      ManufacturingOrder: '1000234',
      OrderIsReleased: true,
      LastChangeDateTime: '2024-07-18T09:15:02.1234567Z',
      _ProductionOrderOperation: [operation],
    };

    expect(read({ value: [order] })).toEqual([
      {
        orderId: '1000234',
        changedAt: epochSeconds('2024-07-18T09:15:02Z'),
        status: 'released',
        operations: [
          {
            operationId: '0010',
            workCentre: 'SAW_1',
            status: 'released',
            plannedStart: epochSeconds('2024-07-20T06:00:00+02:00'),
          },
        ],
      },
    ]);
  });

  it.each([
    ['OrderIsPartiallyConfirmed', 'started'],
    ['OrderIsLocked', 'held'],
    ['OrderIsConfirmed', 'completed'],
    ['OrderIsTechnicallyCompleted', 'completed'],
    ['OrderIsClosed', 'completed'],
    ['OrderIsMarkedForDeletion', 'cancelled'],
    ['OrderIsDeleted', 'cancelled'],
    ['OrderIsPrinted', 'released'],
  ])('that is released, with %s is %s', (flag, status) => {
    expect(read(header({ [flag]: 'X' }))[0]?.status).toBe(status);
  });

  it('has its included statuses', () => {
    const statuses = { results: [{ StatusCode: 'I0002' }, { StatusCode: 'I0043' }] };

    expect(read(header({ to_ProductionOrderStatus: statuses }))[0]).toMatchObject({
      status: 'held',
      operations: [{ status: 'held' }],
    });
  });

  it('has a sub-operation as an operation only at another work centre', () => {
    const subOperation = (number: string, WorkCenter: string) => ({
      ...OPERATION,
      ManufacturingOrderSubOperation: number,
      WorkCenter,
    });
    const operations = [
      OPERATION,
      subOperation('0001', 'SAW_1'),
      subOperation('0002', 'SAW_2'),
      { ...subOperation('0003', 'SAW_1'), ProductionPlant: '2000' },
      { ...subOperation('0004', 'SAW_1'), ProductionPlant: undefined },
    ];
    expect(operationsOf(operations)).toMatchObject([
      { operationId: '0010', workCentre: 'SAW_1' },
      { operationId: '0010-0002', workCentre: 'SAW_2' },
      { operationId: '0010-0003', workCentre: 'SAW_1', plant: '2000' },
    ]);
  });

  it.each([[{ WorkCenter: '' }], [{ WorkCenter: null }], [{ WorkCenter: undefined }]])(
    'leaves out operations without a work centre, such as %j',
    (nowhere) => {
      const external = { ...OPERATION, ManufacturingOrderOperation: '0020', ...nowhere };
      const operations = [
        OPERATION,
        external,
        { ...external, ManufacturingOrderSubOperation: '0001' },
        { ...external, ManufacturingOrderSubOperation: '0002', WorkCenter: 'SAW_2' },
      ];
      expect(operationsOf(operations)).toMatchObject([
        { operationId: '0010', workCentre: 'SAW_1' },
        { operationId: '0020-0002', workCentre: 'SAW_2' },
      ]);
    },
  );

  it('distinguishes operations of parallel sequences in any order', () => {
    const operations = ['1', '0', '000002'].map((ManufacturingOrderSequence) => ({
      ...OPERATION,
      ManufacturingOrderSequence,
    }));
    expect(operationsOf(operations).map(({ operationId }) => operationId)).toEqual([
      '0010/1',
      '0010',
      '0010/000002',
    ]);
  });

  it('reads sub-operations with the newer name of their number', () => {
    const newer = { ...OPERATION, ManufacturingOrderOperation_2: '0010' };
    const operations = ['', '0001', '0002'].map((number) => ({
      ...newer,
      ManufacturingOrdSubOperation_2: number,
      WorkCenter: number === '0002' ? 'SAW_2' : 'SAW_1',
    }));
    expect(operationsOf(operations)).toMatchObject([
      { operationId: '0010', workCentre: 'SAW_1' },
      { operationId: '0010-0002', workCentre: 'SAW_2' },
    ]);
  });

  it.each([[{ d: { results: [] } }], [{ '@odata.context': '$metadata', value: [] }]])(
    'is missing in an empty answer: %j',
    (answer) => {
      expect(() => read(answer)).toThrow(
        'invalid-message: SAP OData production orders: the OData answer holds no order',
      );
    },
  );

  const next = 'Operations?$skiptoken=1';

  it.each([
    [
      'to_ProductionOrderOperation.__next',
      { to_ProductionOrderOperation: { results: [OPERATION], __next: next } },
    ],
    [
      'to_ProductionOrderOperation@odata.nextLink',
      { 'to_ProductionOrderOperation@odata.nextLink': next },
    ],
    ['to_ProductionOrderOperation@nextLink', { 'to_ProductionOrderOperation@nextLink': next }],
    ['_ProductionOrderStatus.__next', { _ProductionOrderStatus: { results: [], __next: next } }],
  ])('is refused with one page of several: %s', (link, fields) => {
    expect(() => read({ d: { results: [header(fields)] } })).toThrow(
      `d.results[0].${link} leads to a further page: expand it without paging by the server`,
    );
  });

  it('may be on one page of several orders', () => {
    const operations = { results: [OPERATION], __next: null };
    const order = header({ to_ProductionOrderOperation: operations });

    expect(read({ d: { results: [order], __next: next } })).toHaveLength(1);
  });

  it.each([
    ['its number', { ManufacturingOrder: '000' }, 'd.results[0].ManufacturingOrder is missing'],
    ['a time', { LastChangeDateTime: undefined }, 'd.results[0].LastChangeDateTime dates it'],
    [
      'the field for work centres',
      { to_ProductionOrderOperation: { results: [{ ManufacturingOrderOperation: '0010' }] } },
      'd.results[0].to_ProductionOrderOperation.results[0].WorkCenter is missing',
    ],
    [
      'a start that exists',
      { to_ProductionOrderOperation: [{ ...OPERATION, OpErlstSchedldExecStrtDte: '2024-02-30' }] },
      'to_ProductionOrderOperation[0].OpErlstSchedldExecStrtDte and',
    ],
  ])('is refused without %s', (_name, change, complaint) => {
    expect(() => read({ d: { results: [header(change)] } })).toThrow(complaint);
  });
});

describe('parts of production orders', () => {
  const recordedAt = epochSeconds('2024-01-01T00:00:00Z');

  it('that are operations change their orders', () => {
    const messages = readMessages(fixture('sap-odata-operations.json'), {
      timeZone: 'Europe/Berlin',
    });

    expect(messages).toEqual([
      {
        kind: 'change',
        order: {
          orderId: '1000000',
          changedAt: epochSeconds('2020-07-23T12:57:18Z'),
          operations: [
            {
              operationId: '0010',
              workCentre: 'Z_ASM1',
              plant: '1710',
              status: 'completed',
              plannedStart: epochSeconds('2017-06-06T07:00:00+02:00'),
            },
            {
              operationId: '0020',
              workCentre: 'Z_INSP1',
              plant: '1710',
              status: 'completed',
              plannedStart: epochSeconds('2017-06-06T13:11:15+02:00'),
            },
          ],
        },
      },
    ]);
  });

  it('have the same ids as among all operations of their order', () => {
    const operation = fc.record({
      ManufacturingOrderSequence: fc.constantFrom('', '0', '000000', '1', '2'),
      ManufacturingOrderOperation: fc.constantFrom('0010', '0020'),
    });
    const idsIn = (parts: object[]): string[] =>
      readMessages(
        JSON.stringify(parts.map((part) => ({ ...OPERATION, ManufacturingOrder: '1', ...part }))),
        { recordedAt },
      ).flatMap(({ order }) => order.operations?.map(({ operationId }) => operationId) ?? []);
    const selector = (part: { ManufacturingOrderSequence: string }): string =>
      JSON.stringify({
        ...part,
        ManufacturingOrderSequence: part.ManufacturingOrderSequence.replace(/^0+$/, ''),
      });

    fc.assert(
      fc.property(fc.uniqueArray(operation, { selector }), (parts) => {
        expect(parts.flatMap((part) => idsIn([part]))).toEqual(
          parts.length === 0 ? [] : idsIn(parts),
        );
      }),
    );
  });

  it('that are completed operations do not complete an order that was not sent', () => {
    const [message] = readMessages(fixture('sap-odata-operations.json'), { recordedAt });

    expect(message && applyOrderMessage(undefined, message)).toMatchObject({
      kind: 'nothing-left',
    });
  });

  it('that are statuses change the order, with the time of the record', () => {
    expect(readMessages(fixture('sap-odata-statuses.json'), { recordedAt })).toEqual([
      { kind: 'change', order: { orderId: '1000000', changedAt: recordedAt, status: 'completed' } },
    ]);
    expect(() => readMessages(fixture('sap-odata-statuses.json'))).toThrow('LastChangeDateTime');
  });

  it('that are a header without operations change its status', () => {
    const link = { __deferred: { uri: 'https://erp.example/operations' } };

    for (const operations of [link, 'https://erp.example/operations', undefined]) {
      expect(
        readMessages(JSON.stringify({ d: header({ to_ProductionOrderOperation: operations }) })),
      ).toEqual([
        {
          kind: 'change',
          order: {
            orderId: '1000234',
            changedAt: epochSeconds('2024-03-18T09:15:02Z'),
            status: 'released',
          },
        },
      ]);
    }
  });
});

describe('a field of a production order', () => {
  const readAt17 = (value: unknown) => readMessages(JSON.stringify(value), { recordedAt: 17 });
  const withOperation = (fields: unknown): object =>
    header({ to_ProductionOrderOperation: [OPERATION, fields] });

  it.each([
    [
      'a work centre',
      withOperation({ ...OPERATION, WorkCenter: 4711 }),
      'to_ProductionOrderOperation[1].WorkCenter must be text, not a number',
    ],
    [
      'a start',
      withOperation({ ...OPERATION, OpErlstSchedldExecStrtDte: 20240320 }),
      '[1].OpErlstSchedldExecStrtDte must be text, not a number',
    ],
    [
      'a status',
      header({ to_ProductionOrderStatus: [{ StatusCode: 45 }] }),
      'to_ProductionOrderStatus[0].StatusCode must be text, not a number',
    ],
    [
      'a status by itself',
      { value: [{ ManufacturingOrder: '1', StatusCode: ['I0045'] }] },
      'value[0].StatusCode must be text, not an array',
    ],
    ['a time', header({ LastChangeDateTime: 20240318091502 }), 'LastChangeDateTime must be text'],
    ['an operation', withOperation('0020'), 'Operation[1] must be an object, not a string'],
    ['an order', { value: [header(), 5] }, 'value[1] must be an object, not a number'],
  ])('is refused where it is something else: %s', (_name, value, complaint) => {
    expect(() => readAt17(value)).toThrow(complaint);
  });

  it.each([[1], [0], ['yes'], ['-'], [['X']]])(
    'is refused where an indicator has the value %j',
    (flag) => {
      const complaint = 'must be X, true, false or empty';

      expect(() => readAt17(header({ OrderIsLocked: flag }))).toThrow(`OrderIsLocked ${complaint}`);
      expect(() => readAt17(withOperation({ ...OPERATION, OperationIsConfirmed: flag }))).toThrow(
        `to_ProductionOrderOperation[1].OperationIsConfirmed ${complaint}`,
      );
    },
  );

  it.each([
    ['true', 'held'],
    ['False', 'released'],
  ])('may be an indicator %j of what has made JSON out of XML', (flag, status) => {
    expect(readAt17(header({ OrderIsLocked: flag }))[0]?.order.status).toBe(status);
  });

  it.each([
    ...[null, '', '0', '0.0000000'],
    '0000-00-00T00:00:00',
    '0000-00-00',
    '00000000000000',
    ...['0001-01-01T00:00:00Z', '/Date(-62135596800000)/'],
  ])('may be a time that is absent: %j', (LastChangeDateTime) => {
    expect(readAt17(header({ LastChangeDateTime }))[0]?.order.changedAt).toBe(17);
  });

  it.each(['yesterday', '2024-03-18 09:15:02', '20240230000000', '2024-13-18T09:15:02Z'])(
    'is refused where the time of a change is invalid: %s',
    (LastChangeDateTime) => {
      const part = { ManufacturingOrder: '1', ...OPERATION, LastChangeDateTime };
      const complaint = 'LastChangeDateTime is no time';

      expect(() => readAt17(header({ LastChangeDateTime }))).toThrow(complaint);
      expect(() => readMessages(JSON.stringify(part))).toThrow(complaint);
    },
  );

  it('is absent where it is null, and may be a number where the field is not read', () => {
    const nothing = { ProductionPlant: null, OperationIsConfirmed: null, WorkCenter: null };
    const further = {
      ...OPERATION,
      ManufacturingOrderOperation: '0020',
      OpPlannedTotalQuantity: 5,
    };

    expect(
      readAt17({ value: [null, withOperation({ ...OPERATION, ...nothing })] })[0]?.order.operations,
    ).toHaveLength(1);
    expect(readAt17(withOperation(further))[0]?.order.operations).toHaveLength(2);
  });
});
