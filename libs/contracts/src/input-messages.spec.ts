import fc from 'fast-check';
import {
  classificationPeriods,
  parseDowntimeReason,
  parseOrderMessage,
  parseWorkOrderLists,
  type ReceivedClassification,
  refuseIssuedAhead,
} from './input-messages.js';
import type { OrderSnapshot } from './orders.js';
import type { Parsed } from './rejection.js';

function valueOf<T>(message: Parsed<T>): T {
  if (!message.ok) throw new Error(`${message.rejection.code}: ${message.rejection.detail}`);
  return message.value;
}

const bytes = (message: unknown): Buffer => Buffer.from(JSON.stringify(message));
const readLists = (message: unknown) => valueOf(parseWorkOrderLists(bytes(message)));
const readOrder = (message: unknown) => valueOf(parseOrderMessage(message));
const readReason = (message: unknown) => valueOf(parseDowntimeReason(bytes(message)));

describe('work order lists', () => {
  it('reads the list of one machine, with its orders as given, repeated ones too', () => {
    const message = {
      machineId: 'M-1',
      workingOrders: ['4712', '4711', '4712'],
      issuedAt: 1763680000,
    };

    expect(readLists({ ...message, extra: true })).toEqual({ assignments: [message], faults: [] });
  });

  it('keeps valid entries beside invalid ones', () => {
    const { assignments, faults } = readLists({
      machines: [
        { machineId: 'M-1', workingOrders: ['1'] },
        { machineId: 'M-2', workingOrders: ['1', 2] },
        { workingOrders: [] },
        'M-4',
      ],
    });

    expect(assignments).toEqual([{ machineId: 'M-1', workingOrders: ['1'] }]);
    expect(faults.map(({ machineId, rejection }) => [machineId, rejection.detail])).toEqual([
      [null, 'machines[2].machineId is missing'],
      [null, 'machines[3] must be an object, not a string'],
      ['M-2', 'machines[1].workingOrders[1] must be a string'],
    ]);
  });

  it('counts only the last entry of a machine named twice', () => {
    const { assignments, faults } = readLists({
      machines: [
        { machineId: 'M-1', workingOrders: ['old'] },
        { machineId: 'M-2', workingOrders: null },
        { machineId: 'M-1', workingOrders: ['new'] },
        { machineId: 'M-2', workingOrders: ['new'] },
      ],
    });

    expect(assignments).toEqual([
      { machineId: 'M-1', workingOrders: ['new'] },
      { machineId: 'M-2', workingOrders: ['new'] },
    ]);
    expect(faults).toEqual([]);
  });

  it('does not fall back to an earlier entry when the last one of a machine is invalid', () => {
    const { assignments, faults } = readLists({
      machines: [{ machineId: 'M-1', workingOrders: ['old'] }, { machineId: 'M-1' }],
    });

    expect(assignments).toEqual([]);
    expect(faults).toMatchObject([{ machineId: 'M-1', rejection: { code: 'invalid-message' } }]);
  });

  it('gives entries without issuedAt that of the message', () => {
    const { assignments } = readLists({
      issuedAt: '2025-11-20T23:06:40Z',
      machines: [
        { machineId: 'M-1', workingOrders: [] },
        { machineId: 'M-2', workingOrders: [], issuedAt: 5 },
      ],
    });

    expect(assignments.map(({ issuedAt }) => issuedAt)).toEqual([1763680000, 5]);
  });

  it('refuses one overlong list without refusing its neighbour', () => {
    const { assignments, faults } = readLists({
      machines: [
        { machineId: 'M-1', workingOrders: Array<string>(10_001).fill('1') },
        { machineId: 'M-2', workingOrders: Array<string>(10_000).fill('1') },
      ],
    });

    expect(assignments.map(({ machineId }) => machineId)).toEqual(['M-2']);
    expect(faults).toMatchObject([{ machineId: 'M-1', rejection: { code: 'too-large' } }]);
  });

  it('refuses more than 10,000 machines as a whole', () => {
    const machines = Array.from({ length: 10_001 }, () => ({ machineId: 'M', workingOrders: [] }));

    expect(() => readLists({ machines })).toThrow('too-large');
  });

  it('names the machine of a refused list', () => {
    expect(parseWorkOrderLists(Buffer.from('{"machineId":"M-1"}'))).toMatchObject({
      ok: false,
      rejection: { machineId: 'M-1', detail: 'workingOrders is missing' },
    });
  });

  it('accepts machineIds that are names of JavaScript', () => {
    const machines = ['__proto__', 'constructor'].map((machineId) => ({
      machineId,
      workingOrders: ['1'],
    }));

    expect(readLists({ machines }).assignments).toEqual(machines);
  });

  it('refuses only lists whose issuedAt is too far ahead of the clock', () => {
    const machines = [
      { machineId: 'M-1', workingOrders: ['1'] },
      { machineId: 'M-2', workingOrders: ['2'], issuedAt: 1300 },
      { machineId: 'M-3', workingOrders: ['3'], issuedAt: 1301 },
    ];
    const { assignments, faults } = refuseIssuedAhead(readLists({ machines }), 1000, 300);
    expect(assignments.map(({ machineId }) => machineId)).toEqual(['M-1', 'M-2']);
    expect(faults).toEqual([
      {
        machineId: 'M-3',
        rejection: {
          code: 'invalid-message',
          detail: 'issuedAt 1301 (1970-01-01T00:21:41Z) lies more than 300 s ahead of the clock',
          machineId: 'M-3',
        },
      },
    ]);
    const older = refuseIssuedAhead(readLists({ machines, issuedAt: 1301 }), 1000, 300);
    expect(older.faults.map(({ machineId }) => machineId)).toEqual(['M-1', 'M-3']);
  });

  it('never throws for any bytes or JSON', () => {
    const entry = fc.record({ machineId: fc.jsonValue(), workingOrders: fc.jsonValue() });
    const messages = fc.oneof(
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.json().map((json) => Buffer.from(json)),
      fc.array(entry).map((machines) => Buffer.from(JSON.stringify({ machines }))),
    );
    fc.assert(
      fc.property(messages, (body) => expect(() => parseWorkOrderLists(body)).not.toThrow()),
    );
  });
});

const OPERATION = { operationId: '0010', machineId: 'M-1', status: 'started' };
const ORDER = {
  orderId: '4711',
  changedAt: 1_763_680_000,
  status: 'released',
  operations: [OPERATION],
};
const readOperation = (change: object): OrderSnapshot =>
  readOrder({ ...ORDER, operations: [{ ...OPERATION, ...change }] });

describe('orders', () => {
  it('reads a whole order', () => {
    const operation = { ...OPERATION, workCentre: 'FR01', plant: '1000', sequence: 10 };
    const order = { ...ORDER, operations: [{ ...operation, plannedStart: 1_763_683_600 }] };

    expect(readOrder({ ...order, colour: 'blue' })).toEqual(order);
  });

  it('leaves out what is null or empty', () => {
    const blank = { workCentre: null, plant: '', sequence: null, plannedStart: '' };

    expect(readOperation(blank).operations).toEqual([OPERATION]);
  });

  it('gives an operation without a status the status of its order', () => {
    expect(readOperation({ status: undefined }).operations[0]?.status).toBe('released');
  });

  it('reads an order without operations', () => {
    expect(readOrder({ ...ORDER, operations: [] }).operations).toEqual([]);
  });

  it.each([
    ['completed', undefined],
    ['cancelled', undefined],
    ['cancelled', null],
  ])('reads an order that is %s with %s for operations', (status, operations) => {
    expect(readOrder({ ...ORDER, status, operations })).toEqual({
      ...ORDER,
      status,
      operations: [],
    });
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
    expect(() => readOrder({ ...ORDER, ...change })).toThrow(complaint);
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

  it('never throws for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, operation) => {
        expect(() => parseOrderMessage(value)).not.toThrow();
        expect(() => parseOrderMessage({ ...ORDER, operations: [operation] })).not.toThrow();
      }),
    );
  });
});

const START = 1_763_680_000;
const REASON = { machineId: 'M-1', reasonId: '22', startTime: START };
describe('downtime reasons', () => {
  it.each([[undefined], [null], ['']])('reads a period without an end (%p) as open', (endTime) => {
    expect(readReason({ ...REASON, endTime })).toEqual(REASON);
  });

  it('reads a closed period, with times in every form allowed', () => {
    const times = { startTime: '1763680000', endTime: '2025-11-21T00:16:40+01:00' };

    expect(readReason({ ...REASON, ...times, shift: 'B' })).toEqual({
      ...REASON,
      endTime: START + 600,
    });
  });

  it('accepts reason instead of reasonId, and both when they are equal', () => {
    const { reasonId, ...rest } = REASON;

    expect(readReason({ ...rest, reason: reasonId })).toEqual(REASON);
    expect(readReason({ ...rest, reason: reasonId, reasonId: null })).toEqual(REASON);
    expect(readReason({ ...REASON, reason: reasonId })).toEqual(REASON);
  });

  it('allows a period that ends as it begins', () => {
    expect(readReason({ ...REASON, endTime: START }).endTime).toBe(START);
  });

  it.each([
    [{ startTime: undefined }, 'missing-times: startTime is missing'],
    [{ startTime: '', endTime: START }, 'missing-times: startTime is missing'],
    [{ endTime: START - 1 }, 'start-after-end'],
    [{ startTime: START * 1000 }, 'invalid-message: startTime must be epoch seconds; milli'],
    [{ endTime: START * 1000 }, 'invalid-message: endTime must be epoch seconds; milli'],
    [{ reasonId: undefined }, 'invalid-message: reasonId is missing'],
    [{ reason: '23' }, 'invalid-message: reasonId and reason name different reasons'],
    [{ reasonId: ['22'] }, 'invalid-message: reasonId must be a string'],
    [{ machineId: 7 }, 'invalid-message: machineId must be a string'],
  ])('refuses %j', (change, complaint) => {
    expect(() => readReason({ ...REASON, ...change })).toThrow(complaint);
  });

  it('names the machine of a refused reason', () => {
    expect(parseDowntimeReason(Buffer.from('{"machineId":"M-1"}'))).toMatchObject({
      rejection: { code: 'missing-times', machineId: 'M-1' },
    });
  });

  it('never throws for any fields', () => {
    const value = fc.jsonValue();
    const messages = fc.record(
      { machineId: value, reasonId: value, reason: value, startTime: value, endTime: value },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(messages, (message) => {
        const body = Buffer.from(JSON.stringify(message));
        expect(() => parseDowntimeReason(body)).not.toThrow();
      }),
    );
  });
});

const SHIFT_END = 1000;

interface Call extends ReceivedClassification {
  reasonId: string;
}

function received(...calls: Partial<Call>[]): Call[] {
  return calls.map((call, index) => ({
    receivedAt: 100,
    startTime: 100,
    endTime: null,
    reasonId: `r${index + 1}`,
    shiftEndTime: SHIFT_END,
    ...call,
  }));
}

const spans = (...calls: Partial<Call>[]) =>
  classificationPeriods(received(...calls)).map((p) => [p.call.reasonId, p.startTime, p.endTime]);

describe('classifications as they apply', () => {
  it('applies to exactly its period when it has an end time', () => {
    expect(spans({ startTime: 10, endTime: 50 })).toEqual([['r1', 10, 50]]);
  });

  it('applies up to the end of the current shift when it is open-ended', () => {
    expect(spans({ startTime: 90 })).toEqual([['r1', 90, SHIFT_END]]);
  });

  it('applies to the end of the shift in which it is received, however long ago it began', () => {
    expect(spans({ startTime: -5000, receivedAt: 900 })).toEqual([['r1', -5000, SHIFT_END]]);
  });

  it('does not prolong an open-ended one whose shift has ended', () => {
    expect(spans({}, { receivedAt: 2000, startTime: 1900, endTime: 1950 })).toEqual([
      ['r1', 100, SHIFT_END],
      ['r2', 1900, 1950],
    ]);
  });

  it('lets a later open-ended one apply from its start, and the earlier one until then', () => {
    expect(spans({}, { receivedAt: 300, startTime: 250 })).toEqual([
      ['r1', 100, 250],
      ['r2', 250, SHIFT_END],
    ]);
  });

  it('lets a later one win where two overlap, and end an open-ended one before it if it carries an end time', () => {
    const earlier = { startTime: 0, endTime: 800 };
    expect(spans(earlier, {}, { receivedAt: 300, startTime: 10, endTime: 20 })).toEqual([
      ['r1', 0, 10],
      ['r3', 10, 20],
      ['r1', 20, 100],
      ['r2', 100, 300],
      ['r1', 300, 800],
    ]);
  });

  it('takes an empty period as a call that carries an end time', () => {
    expect(spans({}, { receivedAt: 200, startTime: 150, endTime: 150 })).toEqual([
      ['r1', 100, 200],
    ]);
  });

  it('does not change when a call is repeated at once', () => {
    const call = { startTime: 40, endTime: 80, reasonId: 'r' };
    expect(spans(call, call)).toEqual(spans(call));
  });

  it('never overlaps and never goes backwards', () => {
    const call = fc.record({
      startTime: fc.integer({ min: 0, max: 99 }),
      length: fc.option(fc.nat({ max: 200 })),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 12 }), (calls) => {
        const periods = classificationPeriods(
          received(
            ...calls.map(({ startTime, length }, index) => ({
              startTime,
              receivedAt: 100 + index,
              endTime: length === null ? null : startTime + length,
            })),
          ),
        );
        periods.forEach((period, index) => {
          expect(period.startTime).toBeLessThan(period.endTime);
          expect(period.startTime).toBeGreaterThanOrEqual(periods[index - 1]?.endTime ?? -Infinity);
        });
      }),
    );
  });
});
