import { epochSeconds, fixture, readMessages, readSnapshots } from '../../test/read-messages.js';

const WORK_ORDER = { id: 41, state: 'ready', workcenter_id: [3, 'FR01'] };
const order = (more: object = {}): object => ({
  name: 'WH/MO/7',
  state: 'confirmed',
  workorder_ids: [WORK_ORDER],
  ...more,
});
const read = (value: unknown, recordedAt = 17) =>
  readMessages(JSON.stringify(value), { recordedAt });

describe('a manufacturing order of Odoo', () => {
  it('with its work orders is a whole order, in UTC', () => {
    expect(readSnapshots(fixture('odoo-production.json'), { timeZone: 'Europe/Berlin' })).toEqual([
      {
        orderId: 'WH/MO/00301',
        changedAt: epochSeconds('2024-03-18T09:15:02Z'),
        status: 'started',
        operations: [
          {
            operationId: '41',
            workCentre: 'FR01',
            status: 'started',
            plannedStart: epochSeconds('2024-03-20T05:00:00Z'),
          },
          { operationId: '42', workCentre: 'DR01', status: 'planned' },
        ],
      },
    ]);
  });

  it.each([
    ['draft', 'planned'],
    ['confirmed', 'released'],
    ['progress', 'released'],
    ['done', 'completed'],
    ['cancel', 'cancelled'],
  ])('in %s has a ready work order that is %s', (state, status) => {
    expect(read(order({ state }))[0]?.order.operations).toMatchObject([{ status }]);
  });

  it('with its work orders as ids, or without the field, changes its status', () => {
    const change = {
      kind: 'change',
      order: { orderId: 'WH/MO/7', changedAt: 17, status: 'released' },
    };
    const webhook = { _model: 'mrp.production', _id: 12, name: 'WH/MO/7', state: 'confirmed' };

    expect(read(order({ workorder_ids: [41, 42] }))).toEqual([change]);
    expect(read(webhook)).toEqual([change]);
  });

  it('with an empty list of work orders is a whole order without operations', () => {
    expect(read(order({ workorder_ids: [] }))[0]).toMatchObject({
      kind: 'snapshot',
      order: { operations: [] },
    });
  });

  it.each([
    ['a whole one', (fields: object) => order(fields)],
    ['a webhook', (fields: object) => ({ _model: 'mrp.production', state: 'done', ...fields })],
  ])('that was split ends what is known under its former name: %s', (_name, record) => {
    const [first, former, ...others] = read(record({ name: 'WH/MO/7-001', backorder_sequence: 1 }));

    expect(first?.order.orderId).toBe('WH/MO/7-001');
    expect(former).toEqual({
      kind: 'change',
      order: { orderId: 'WH/MO/7', changedAt: 17, status: 'cancelled' },
    });
    expect(others).toEqual([]);
  });

  it('that is split again, or has a backorder after a split, cancels its former name', () => {
    const split = read(order({ name: 'WH/MO/7-001-001', backorder_sequence: 1 }));
    expect(split.map(({ order: { orderId } }) => orderId)).toEqual([
      'WH/MO/7-001-001',
      'WH/MO/7-001',
    ]);
  });

  it.each([
    ['what it was split into', { name: 'WH/MO/7-002', backorder_sequence: 2 }],
    ['one that was not split', { name: 'WH/MO/7-001', backorder_sequence: 0 }],
    ['one that does not say so', { name: 'WH/MO/7-001' }],
    ['one with a name of its own', { name: 'Flange', backorder_sequence: 1 }],
    ['one without a former name', { name: '-001', backorder_sequence: 1 }],
  ])('ends no other order: %s', (_name, fields) => {
    expect(read(order(fields))).toHaveLength(1);
  });

  it.each([
    ['an unknown state', order({ state: 'paused' }), 'state is no known status: paused'],
    ['no name', order({ name: false }), 'name is missing'],
    [
      'a work order without an id',
      order({ workorder_ids: [{ ...WORK_ORDER, id: null }] }),
      'workorder_ids[0].id is missing',
    ],
    [
      'a work centre that is none',
      order({ workorder_ids: [{ ...WORK_ORDER, workcenter_id: [3] }] }),
      'workorder_ids[0].workcenter_id must be an id',
    ],
    ['a webhook without fields', { _model: 'mrp.production', _id: 12 }, 'name is missing'],
  ])('with %s is refused', (_name, document, why) => {
    expect(() => read(document)).toThrow(`invalid-message: Odoo manufacturing orders: ${why}`);
  });
});

describe('a work order of Odoo', () => {
  it.each([
    ['read', [7, 'WH/MO/7']],
    ['web_read', { id: 7, display_name: 'WH/MO/7' }],
  ])('names its order as %s answers it', (_name, production_id) => {
    const [message] = read({ result: [{ ...WORK_ORDER, production_id }] });

    expect(message?.order).toMatchObject({
      orderId: 'WH/MO/7',
      operations: [{ operationId: '41', workCentre: 'FR01' }],
    });
  });

  it('that names its order by id alone is refused', () => {
    expect(() => read({ ...WORK_ORDER, production_id: 12 })).toThrow(
      'Odoo manufacturing orders: production_id is an id without the name of the order: send barcode',
    );
  });

  it('without a work centre does not change its order', () => {
    const document = { ...WORK_ORDER, production_id: [7, 'WH/MO/7'], workcenter_id: false };

    expect(read(document)[0]?.order).toEqual({ orderId: 'WH/MO/7', changedAt: 17 });
  });
});
