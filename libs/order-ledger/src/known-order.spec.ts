import fc from 'fast-check';
import { ORDER_STATUSES, type OrderOperation, type OrderSnapshot } from '#libs/contracts';
import {
  FinishedOrders,
  fromStoredOrder,
  isFinished,
  toKnownOrder,
  toStoredOrder,
} from './known-order.js';

const anOperation: fc.Arbitrary<OrderOperation> = fc.record(
  {
    operationId: fc.string(),
    status: fc.constantFrom(...ORDER_STATUSES),
    machineId: fc.string(),
    workCentre: fc.string(),
    plant: fc.string(),
    sequence: fc.nat(),
    plannedStart: fc.integer(),
  },
  { requiredKeys: ['operationId', 'status'], noNullPrototype: true },
);

const aSequence = fc.record(
  { counter: fc.string(), value: fc.string() },
  { noNullPrototype: true },
);

const anOrder: fc.Arbitrary<OrderSnapshot> = fc.record(
  {
    orderId: fc.string(),
    changedAt: fc.integer(),
    status: fc.constantFrom(...ORDER_STATUSES),
    operations: fc.array(anOperation),
    fence: aSequence,
  },
  { requiredKeys: ['orderId', 'changedAt', 'status', 'operations'], noNullPrototype: true },
);

const someIds = fc.array(fc.string());

const aPosition = fc.record(
  { partition: fc.nat(), offset: fc.nat(), recordedAt: fc.nat() },
  { noNullPrototype: true },
);

describe('a stored order', () => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(anOrder, someIds, aPosition, (order, machineIds, from) => {
        const known = toKnownOrder(order, machineIds, from, []);
        const text = JSON.stringify(toStoredOrder(known));
        expect(fromStoredOrder(JSON.parse(text))).toEqual(known);
      }),
    );
  });

  it('is finished after it is read if it was before, and holds nothing else', () => {
    fc.assert(
      fc.property(anOrder, aPosition, (order, position) => {
        const known = toKnownOrder(order, ['M-1'], position, []);
        expect(isFinished(known)).toBe(isFinished(order));
        if (isFinished(order)) expect(known).toMatchObject({ operations: [], machineIds: [] });
      }),
    );
  });

  it('is read as earlier versions stored it, without fields that have a position now', () => {
    const stored = [100, 7, 'released', ['M-1'], [['0010', 'released', 'M-1']]];
    expect(fromStoredOrder(stored)).toEqual({
      changedAt: 100,
      from: { partition: -1, offset: 7, recordedAt: 0 },
      status: 'released',
      machineIds: ['M-1'],
      operations: [{ operationId: '0010', status: 'released', machineId: 'M-1' }],
    });
  });

  it('is read as earlier versions stored it, with the former positions of its messages', () => {
    const known = toKnownOrder(
      { orderId: '4711', changedAt: 100, status: 'planned', operations: [] },
      ...([['M-1'], { partition: 1, offset: 7, recordedAt: 5 }, []] as const),
    );
    expect(fromStoredOrder([...toStoredOrder(known), [6, [0, 3]]])).toEqual(known);
  });

  it.each([null, 'text', {}, [1, 2]])(
    'is undefined for a value that the bridge has not stored: %j',
    (json) => {
      expect(fromStoredOrder(json)).toBeUndefined();
    },
  );
});

describe('FinishedOrders', () => {
  it('forgets the oldest beyond the limit', () => {
    const finished = new FinishedOrders(['A', 'B'], 3);
    expect(finished.recordOrder('C', true)).toEqual([]);
    expect(finished.recordOrder('D', true)).toEqual(['A']);
    expect(finished.recordOrder('B', false)).toEqual([]);
    expect(finished.recordOrder('E', true)).toEqual([]);
    expect(finished.recordOrder('F', true)).toEqual(['C']);
  });

  it('treats an order that is finished again as the latest', () => {
    const finished = new FinishedOrders(['A', 'B'], 2);
    expect(finished.recordOrder('A', true)).toEqual([]);
    expect(finished.recordOrder('C', true)).toEqual(['B']);
  });
});
