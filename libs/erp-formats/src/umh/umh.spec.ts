import type { OrderMessage } from '#libs/contracts';

import { epochSeconds, fixture, readMessages } from '../../test/read-messages.js';
import { sourceTopicOf } from './umh.format.js';

interface Example {
  topic: string;
  payload: object;
}
const EXAMPLES = JSON.parse(fixture('umh-analytics.json').toString()) as Example[];
const payloadOf = (action: string): object => {
  const found = EXAMPLES.find(({ topic }) => topic.endsWith(`_analytics.work-order.${action}`));
  if (found === undefined) throw new Error(`no example of ${action}`);
  return found.payload;
};
const CELL = 'umh.v1.acme.north.hall-3.line-1.cell-2._analytics.work-order';
const RECORDED = epochSeconds('2024-07-02T15:00:00Z');
const read = (payload: object, sourceTopic: string | null = null, recordedAt = RECORDED) =>
  readMessages(JSON.stringify(payload), { sourceTopic, recordedAt })[0];

describe('a work order of UMH', () => {
  const place = { operationId: '1', plant: 'north', workCentre: 'hall-3.line-1.cell-2' };

  it('that is created is a whole order at the place of its topic', () => {
    expect(read(payloadOf('create'), `${CELL}.create`)).toEqual<OrderMessage>({
      kind: 'snapshot',
      order: {
        orderId: '1234',
        changedAt: RECORDED,
        status: 'planned',
        operations: [{ ...place, status: 'planned' }],
      },
    });
  });

  it('may have its fields in camel case', () => {
    const create = { externalWorkOrderId: '7', product: {}, quantity: 1, status: 1 };
    const start = { externalWorkOrderId: '7', startTimeUnixMs: 1_719_931_704_927 };

    expect(
      read({ ...create, startTime: '2024-07-02T14:00:00Z' }, `${CELL}.create`)?.order,
    ).toMatchObject({
      orderId: '7',
      status: 'started',
      operations: [{ plannedStart: epochSeconds('2024-07-02T14:00:00Z') }],
    });
    expect(read(start)).toMatchObject({
      kind: 'change',
      order: { orderId: '7', status: 'started' },
    });
    expect(read({ externalWorkOrderId: '7', endTimeUnixMs: 1 })?.order.status).toBe('completed');
    expect(() => read({ ...start, badQuantity: 1 })).toThrow(
      'bad_quantity makes it a message about',
    );
  });

  it.each([
    ['start', 'started'],
    ['stop', 'completed'],
  ] as const)('that is to %s is %s, and known by its fields without a topic', (action, status) => {
    const order = { orderId: '1234', changedAt: RECORDED, status };

    expect(read(payloadOf(action))).toEqual({ kind: 'change', order });
    expect(read(payloadOf(action), `${CELL}.${action}`)).toEqual({
      kind: 'change',
      order: { ...order, operations: [{ ...place, status }] },
    });
  });

  it('without the time of a record has its own time', () => {
    const read = (payload: object) => readMessages(JSON.stringify(payload))[0];

    expect(read(payloadOf('start'))?.order.changedAt).toBe(1_719_931_704);
    expect(() => read(payloadOf('create'))).toThrow('neither the record nor start_time_unix_ms');
  });

  it.each([
    [
      'an id that is text',
      { external_work_order_id: 1 },
      'external_work_order_id must be a string',
    ],
    ['an id', { external_work_order_id: '' }, 'orderId is missing'],
    ['a status there is', { status: 3 }, 'status must be 0'],
    ['a status that is a number', { status: '1' }, 'status must be 0'],
    ['whole milliseconds', { start_time_unix_ms: 1.5 }, 'start_time_unix_ms must be whole'],
    ['seconds that are plausible', { end_time_unix_ms: 9e15 }, 'end_time_unix_ms must be epoch'],
    [
      'an offset',
      { start_time: '2024-07-02T14:00:00' },
      'start_time must be epoch seconds or an RFC',
    ],
  ])('is refused without %s', (_name, change, complaint) => {
    expect(() => read({ ...payloadOf('create'), ...change }, `${CELL}.create`)).toThrow(complaint);
  });

  it('that is created without a topic is refused with the places where the topic is searched', () => {
    expect(() => read(payloadOf('create'))).toThrow(
      'a create needs its topic, which says where: in header umh_topic or source-topic, or as the key',
    );
  });

  it.each([
    'umh.v1.acme._analytics.work-order.create',
    'umh.v1.acme.north._analytics.work-order.create',
    'umh.v1.acme.north.hall-3._historian.temperature',
  ])('that is created under %s has no place', (topic) => {
    expect(() => read(payloadOf('create'), topic)).toThrow(
      `the topic names no place below a site: ${topic}`,
    );
  });

  const ALL = 'of the _analytics contract only work-order create, start and stop are read';
  const others = EXAMPLES.filter(({ topic }) => !topic.includes('work-order')).map(
    ({ topic, payload }) => ({ ending: topic.split('_analytics.')[1] ?? '', topic, payload }),
  );

  it.each(others)('is not another message of the contract: $ending', ({ payload }) => {
    expect(() => read(payload)).toThrow('orderId is missing');
  });

  it.each([...others, { ending: 'work-order.pause', payload: payloadOf('start') }])(
    'is not another message of the contract that names a work order: $ending',
    ({ ending, payload }) => {
      const topic = `umh.v1.acme.north.hall-3._analytics.${ending}`;

      expect(() => read({ ...payload, external_work_order_id: '1234' }, topic)).toThrow(
        `invalid-message: UMH work orders: the topic ends in _analytics.${ending}; ${ALL}`,
      );
    },
  );

  it.each([
    ['external_product_type_id', { external_product_type_id: '5678', quantity: 100 }],
    ['product_batch_id', { product_batch_id: '1234', start_time_unix_ms: 1_719_931_604_927 }],
    ['bad_quantity', { bad_quantity: 10, end_time: 1_719_931_704 }],
  ])('is none without a topic where %s is in it', (field, fields) => {
    expect(() => read({ external_work_order_id: '1234', ...fields })).toThrow(
      `invalid-message: UMH work orders: ${field} makes it a message about products; ${ALL}`,
    );
  });

  it('may have further fields where its topic identifies it', () => {
    const payload = { ...payloadOf('stop'), bad_quantity: 10 };

    expect(read(payload, `${CELL}.stop`)?.order).toMatchObject({ status: 'completed' });
  });
});

describe('the topic of a UMH message', () => {
  const key = Buffer.from(`${CELL}.start`);

  it('is in its header, else in its key', () => {
    const headers = [['umh_topic', Buffer.from(`${CELL}.stop`)] as const];

    expect(sourceTopicOf({ headers, key })).toBe(`${CELL}.stop`);
    expect(sourceTopicOf({ headers: [], key })).toBe(`${CELL}.start`);
  });

  it.each([null, Buffer.from('4711'), Buffer.from([0xff, 0xfe])])('is not in %s', (other) => {
    expect(sourceTopicOf({ headers: [], key: other })).toBeNull();
  });
});
