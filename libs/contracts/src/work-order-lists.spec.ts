import fc from 'fast-check';

import {
  parseWorkOrderLists,
  refuseIssuedAhead,
  type WorkOrderListMessage,
} from './work-order-lists.js';

function read(message: unknown): WorkOrderListMessage {
  const parsed = parseWorkOrderLists(Buffer.from(JSON.stringify(message)));
  if (!parsed.ok) throw new Error(`${parsed.rejection.code}: ${parsed.rejection.detail}`);
  return parsed.value;
}

describe('work order lists', () => {
  it('reads the list of one machine', () => {
    const message = { machineId: 'M-1', workingOrders: ['4711', '4712'], issuedAt: 1763680000 };

    expect(read({ ...message, extra: true })).toEqual({ assignments: [message], faults: [] });
  });

  it('keeps the orders as given, repeated ones too', () => {
    const identifier = fc.stringMatching(/^[A-Z0-9-]{1,20}$/);
    fc.assert(
      fc.property(fc.array(identifier), (workingOrders) => {
        const [assignment] = read({ machineId: 'M-1', workingOrders }).assignments;
        expect(assignment?.workingOrders).toEqual(workingOrders);
      }),
    );
  });

  it('lets good entries stand beside bad ones', () => {
    const { assignments, faults } = read({
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
    const { assignments, faults } = read({
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

  it('does not fall back to an older entry when the last one of a machine is bad', () => {
    const { assignments, faults } = read({
      machines: [{ machineId: 'M-1', workingOrders: ['old'] }, { machineId: 'M-1' }],
    });

    expect(assignments).toEqual([]);
    expect(faults).toMatchObject([{ machineId: 'M-1', rejection: { code: 'invalid-message' } }]);
  });

  it('gives entries without a time of issue that of the message', () => {
    const { assignments } = read({
      issuedAt: '2025-11-20T23:06:40Z',
      machines: [
        { machineId: 'M-1', workingOrders: [] },
        { machineId: 'M-2', workingOrders: [], issuedAt: 5 },
      ],
    });

    expect(assignments.map(({ issuedAt }) => issuedAt)).toEqual([1763680000, 5]);
  });

  it('refuses one overlong list without refusing its neighbour', () => {
    const { assignments, faults } = read({
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

    expect(() => read({ machines })).toThrow('too-large');
  });

  it('says which machine a refused message names', () => {
    expect(parseWorkOrderLists(Buffer.from('{"machineId":"M-1"}'))).toMatchObject({
      ok: false,
      rejection: { machineId: 'M-1', detail: 'workingOrders is missing' },
    });
  });

  it('takes a machineId like any other that only looks like part of the language', () => {
    const machines = ['__proto__', 'constructor'].map((machineId) => ({
      machineId,
      workingOrders: ['1'],
    }));

    expect(read({ machines }).assignments).toEqual(machines);
  });

  it('refuses lists that no clock can have dated yet, and those alone', () => {
    const machines = [
      { machineId: 'M-1', workingOrders: ['1'] },
      { machineId: 'M-2', workingOrders: ['2'], issuedAt: 1300 },
      { machineId: 'M-3', workingOrders: ['3'], issuedAt: 1301 },
    ];
    const { assignments, faults } = refuseIssuedAhead(read({ machines }), 1000, 300);
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
    const older = refuseIssuedAhead(read({ machines, issuedAt: 1301 }), 1000, 300);
    expect(older.faults.map(({ machineId }) => machineId)).toEqual(['M-1', 'M-3']);
  });

  it('never throws, whatever the bytes and whatever the JSON', () => {
    const entry = fc.record({ machineId: fc.jsonValue(), workingOrders: fc.jsonValue() });
    const messages = fc.oneof(
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.json().map((json) => Buffer.from(json)),
      fc.array(entry).map((machines) => Buffer.from(JSON.stringify({ machines }))),
    );
    fc.assert(
      fc.property(messages, (body) => {
        expect(() => parseWorkOrderLists(body)).not.toThrow();
      }),
    );
  });
});
