import type { OrderSnapshot } from '#libs/contracts';
import { applyOrderMessage } from '#libs/order-ledger';
import { readMessages } from '../../test/read-messages.js';

const JOB = { JobOrderID: 'J-7', EquipmentRequirements: [{ ID: 'FR01' }] };
const read = (value: unknown, recordedAt = 17) =>
  readMessages(JSON.stringify(value), { recordedAt });

describe('a job order of OPC 10031-4', () => {
  it.each([
    ['Store', 'planned'],
    ['StoreAndStart', 'released'],
  ])('is %s, then %s', (method, status) => {
    expect(read({ [method]: { JobOrder: JOB } })[0]?.order).toMatchObject({
      status,
      operations: [{ status }],
    });
  });

  it('with only its id changes its status', () => {
    expect(read({ Pause: { JobOrderID: 'J-7', Comment: [] } })).toEqual([
      { kind: 'change', order: { orderId: 'J-7', changedAt: 17, status: 'held' } },
    ]);
  });

  it('without its id leads to the refusal of the whole list', () => {
    const list = [{ JobOrder: JOB }, { JobOrder: { EquipmentRequirements: [{ ID: 'FR02' }] } }];

    expect(() => read({ JobOrderList: list })).toThrow(
      'JobOrderList[1].JobOrder.JobOrderID is missing',
    );
    expect(() => read(list)).toThrow('[1].JobOrder.JobOrderID is missing');
  });

  it('moves with an update to its equipment, and keeps its status', () => {
    const known: OrderSnapshot = {
      orderId: 'J-7',
      changedAt: 16,
      status: 'released',
      operations: [{ operationId: 'FR01', workCentre: 'FR01', status: 'released' }],
    };
    const [update] = read({
      Update: { JobOrder: { ...JOB, EquipmentRequirements: [{ ID: 'FR02' }], Priority: 0 } },
    });

    expect(update && applyOrderMessage(known, update)).toMatchObject({
      kind: 'applied',
      order: {
        status: 'released',
        operations: [
          { operationId: 'FR02', workCentre: 'FR02', status: 'released', sequence: 32_768 },
        ],
      },
    });
  });

  it.each([
    [[{ StateText: { Locale: 'en', Text: 'NotAllowedToStart' }, StateNumber: 1 }], 'planned'],
    [[{ StateText: 'AllowedToStart' }, { StateText: 'Ready' }], 'released'],
    [[{ StateText: { Text: 'Interrupted' } }, { StateText: { Text: 'Held' } }], 'held'],
  ])('of a list of job orders is in the state %j', (State, status) => {
    expect(read({ JobOrderList: [{ JobOrder: JOB, State }] })[0]?.order.status).toBe(status);
    expect(read({ JobOrder: JOB, State })[0]?.order.status).toBe(status);
  });

  it('by itself is released', () => {
    expect(read(JOB)[0]?.order).toMatchObject({ status: 'released', orderId: 'J-7' });
  });

  it.each([
    ['Priority', [-32_768, 65_536], [32_767, 1]],
    [
      'StartTime',
      ['0001-01-01T00:00:00Z', undefined],
      ['1601-01-01T00:00:00Z', undefined],
      ['2024-03-20T06:00:00+01:00', 1_710_910_800],
    ],
  ])('has its %s', (name, ...cases) => {
    for (const [value, expected] of cases) {
      const operation = read({ ...JOB, [name]: value })[0]?.order.operations?.[0];
      expect(name === 'Priority' ? operation?.sequence : operation?.plannedStart).toBe(expected);
    }
  });

  it.each([
    [
      'no job order at all',
      { JobOrderList: [] },
      'JobOrderList is empty: orders that are not in it stay',
    ],
    [
      'no id',
      { StoreAndStart: { JobOrder: { ID: 'J-7' } } },
      'StoreAndStart.JobOrder.JobOrderID is missing',
    ],
    [
      'neither equipment nor a status',
      { Update: { JobOrder: { JobOrderID: 'J-7' } } },
      'Update.JobOrder.EquipmentRequirements is missing',
    ],
    [
      'equipment without an id',
      { ...JOB, EquipmentRequirements: [{ Quantity: '1' }] },
      'EquipmentRequirements[0].ID is missing',
    ],
    [
      'an unknown state',
      { JobOrder: JOB, State: [{ StateText: 'Lost' }] },
      'State[0].StateText is no known status: Lost',
    ],
    [
      'a state without a name',
      { JobOrder: JOB, State: [{ StateNumber: 3 }] },
      'State[0].StateText is missing',
    ],
    [
      'a priority that is none',
      { ...JOB, Priority: 32_768 },
      'Priority must be a whole number from -32768 to 32767',
    ],
  ])('with %s is refused, with the place', (_name, document, why) => {
    expect(() => read(document)).toThrow(`invalid-message: OPC UA job orders: ${why}`);
  });

  it('is distinguished from one of B2MML by its id', () => {
    const b2mml = { JobOrder: { ID: 'WO-7', EquipmentRequirement: { EquipmentID: 'FR01' } } };

    expect(read(b2mml)[0]?.order.orderId).toBe('WO-7');
    expect(read({ JobOrder: JOB })[0]?.order.orderId).toBe('J-7');
  });
});
