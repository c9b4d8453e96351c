import { readMessages } from '../../test/read-messages.js';

const OPERATION = { ManufacturingOrderOperation: '0010', WorkCenter: 'FR01' };
const read = (value: unknown, recordedAt?: number) =>
  readMessages(JSON.stringify(value), recordedAt === undefined ? {} : { recordedAt });
const order = (fields: object = {}): object => ({
  ManufacturingOrder: '1',
  LastChangeDateTime: '20240318091502',
  OrderIsReleased: 'X',
  to_ProductionOrderOperation: [OPERATION],
  ...fields,
});
const withOperation = (fields: unknown): object =>
  order({ to_ProductionOrderOperation: [OPERATION, fields] });

describe('an entity of OData', () => {
  it.each([
    ['an order number', order({ ManufacturingOrder: 7 }), 'ManufacturingOrder must be text, not'],
    [
      'a work centre',
      withOperation({ ...OPERATION, WorkCenter: 4711 }),
      'to_ProductionOrderOperation[1].WorkCenter must be text, not a number',
    ],
    [
      'a plant',
      withOperation({ ...OPERATION, ProductionPlant: 1000 }),
      'to_ProductionOrderOperation[1].ProductionPlant must be text, not a number',
    ],
    [
      'a start',
      withOperation({ ...OPERATION, OpErlstSchedldExecStrtDte: 20240320 }),
      '[1].OpErlstSchedldExecStrtDte must be text, not a number',
    ],
    [
      'a status',
      order({ to_ProductionOrderStatus: [{ StatusCode: 45 }] }),
      'to_ProductionOrderStatus[0].StatusCode must be text, not a number',
    ],
    [
      'a status by itself',
      { value: [{ ManufacturingOrder: '1', StatusCode: ['I0045'] }] },
      'value[0].StatusCode must be text, not an array',
    ],
    ['a time', order({ LastChangeDateTime: 20240318091502 }), 'LastChangeDateTime must be text'],
  ])('is refused where text is something else: %s', (_name, value, complaint) => {
    expect(() => read(value, 17)).toThrow(complaint);
  });

  it.each([[1], [0], ['yes'], ['-'], [['X']]])(
    'is refused with an indicator of %j, which is neither set nor not',
    (flag) => {
      const complaint = 'must be X, true, false or empty';

      expect(() => read(order({ OrderIsLocked: flag }))).toThrow(`OrderIsLocked ${complaint}`);
      expect(() => read(withOperation({ ...OPERATION, OperationIsConfirmed: flag }))).toThrow(
        `to_ProductionOrderOperation[1].OperationIsConfirmed ${complaint}`,
      );
    },
  );

  it.each([
    ['true', 'held'],
    ['False', 'released'],
  ])('takes the indicator %j of what has made JSON out of XML', (flag, status) => {
    expect(read(order({ OrderIsLocked: flag }))[0]?.order.status).toBe(status);
  });

  it.each([
    ...[null, '', '0', '0.0000000'],
    '0000-00-00T00:00:00',
    '0000-00-00',
    '00000000000000',
    '0001-01-01T00:00:00Z',
  ])('takes %j for a time that is absent', (LastChangeDateTime) => {
    expect(read(order({ LastChangeDateTime }), 17)[0]?.order.changedAt).toBe(17);
  });

  it('is refused where entities are something else', () => {
    const complaint = 'must be an object, not a';

    expect(() => read(withOperation('0020'))).toThrow(`Operation[1] ${complaint} string`);
    expect(() => read(order({ to_ProductionOrderOperation: true }))).toThrow(
      `${complaint} boolean`,
    );
    expect(() => read({ value: [order(), 5] })).toThrow(`value[1] ${complaint} number`);
  });

  it('takes null, and what is missing, for absent', () => {
    const nothing = { ProductionPlant: null, OperationIsConfirmed: null, WorkCenter: null };
    const [message] = read({ value: [null, withOperation({ ...OPERATION, ...nothing })] });

    expect(message?.order.operations).toHaveLength(1);
  });

  it('may have numbers in fields that are not read', () => {
    const further = {
      ...OPERATION,
      ManufacturingOrderOperation: '0020',
      OpPlannedTotalQuantity: 5,
    };

    expect(read(withOperation(further))[0]?.order.operations).toHaveLength(2);
  });
});

describe('the time of a change in OData', () => {
  it.each(['yesterday', '2024-03-18 09:15:02', '20240230000000', '2024-13-18T09:15:02Z'])(
    'is refused where it is none, for the order would count as new: %s',
    (LastChangeDateTime) => {
      const complaint = 'LastChangeDateTime is no time';

      expect(() => read(order({ LastChangeDateTime }), 17)).toThrow(complaint);
      expect(() => read({ ManufacturingOrder: '1', ...OPERATION, LastChangeDateTime })).toThrow(
        complaint,
      );
    },
  );
});
