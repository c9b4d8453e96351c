import fc from 'fast-check';

import { parseOrderMessage, type OrderSnapshot } from './order-message.js';

const OPERATION = { operationId: '0010', machineId: 'M-1', status: 'started' };
const ORDER = {
  orderId: '4711',
  changedAt: 1_763_680_000,
  status: 'released',
  operations: [OPERATION],
};

function read(message: unknown): OrderSnapshot {
  const parsed = parseOrderMessage(message);
  if (!parsed.ok) throw new Error(`${parsed.rejection.code}: ${parsed.rejection.detail}`);
  return parsed.value;
}
const readOperation = (change: object): OrderSnapshot =>
  read({ ...ORDER, operations: [{ ...OPERATION, ...change }] });

describe('orders', () => {
  it('reads a whole order', () => {
    const operation = { ...OPERATION, workCentre: 'FR01', plant: '1000', sequence: 10 };
    const order = { ...ORDER, operations: [{ ...operation, plannedStart: 1_763_683_600 }] };

    expect(read({ ...order, colour: 'blue' })).toEqual(order);
  });

  it('leaves out what is null or empty', () => {
    const blank = { workCentre: null, plant: '', sequence: null, plannedStart: '' };

    expect(readOperation(blank).operations).toEqual([OPERATION]);
  });

  it('gives an operation without a status that of its order', () => {
    expect(readOperation({ status: undefined }).operations[0]?.status).toBe('released');
  });

  it('reads an order without operations', () => {
    expect(read({ ...ORDER, operations: [] }).operations).toEqual([]);
  });

  it.each([
    ['completed', undefined],
    ['cancelled', undefined],
    ['cancelled', null],
  ])('reads an order that is %s with %s for operations', (status, operations) => {
    expect(read({ ...ORDER, status, operations })).toEqual({ ...ORDER, status, operations: [] });
  });

  it.each([
    [{ orderId: 4711 }, 'invalid-message: orderId must be a string'],
    [{ changedAt: undefined }, 'invalid-message: changedAt is missing'],
    [{ status: 'REL' }, 'invalid-message: status must be one of planned, released'],
    [{ operations: undefined }, 'invalid-message: operations is missing'],
    [{ operations: null }, 'invalid-message: operations is missing'],
    [{ operations: {} }, 'invalid-message: operations must be a list'],
    [{ operations: ['0010'] }, 'invalid-message: operations[0] must be an object'],
    [{ operations: Array(10_001).fill(OPERATION) }, 'too-large: operations has 10001 entries'],
    [{ operations: [OPERATION, OPERATION] }, 'operations[1] repeats operationId 0010'],
  ])('refuses an order with %.60j', (change, complaint) => {
    expect(() => read({ ...ORDER, ...change })).toThrow(complaint);
  });

  it.each([
    [{ operationId: '' }, 'operations[0].operationId is missing'],
    [{ machineId: null }, 'operations[0] names neither a machineId nor a workCentre'],
    [{ status: 'done' }, 'operations[0].status must be one of'],
    [{ sequence: -1 }, 'operations[0].sequence must be a whole number'],
    [{ sequence: '10' }, 'operations[0].sequence must be a whole number'],
    [{ sequence: 2 ** 53 }, 'sequence must be a whole number from 0 to 9007199254740991'],
    [{ plannedStart: 'soon' }, 'operations[0].plannedStart must be epoch seconds'],
    // 4711-xxx… is the name on a list
    [
      { operationId: 'x'.repeat(252) },
      'orderId and operationId are 1 characters too long together',
    ],
  ])('refuses an operation with %j', (change, complaint) => {
    expect(() => readOperation(change)).toThrow(complaint);
  });

  it('never throws, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, operation) => {
        expect(() => parseOrderMessage(value)).not.toThrow();
        expect(() => parseOrderMessage({ ...ORDER, operations: [operation] })).not.toThrow();
      }),
    );
  });
});
