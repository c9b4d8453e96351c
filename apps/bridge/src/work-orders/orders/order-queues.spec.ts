import { createKafka, type InboundMessage } from '#libs/kafka';
import { inboundMessage } from '../../delivery/testing/inbound-message.js';
import { bridgeSettings } from '../../platform/testing/bridge-settings.js';
import { ASSIGNMENT_CHANGES, ORDER_REFUSALS, OrderQueues, RELAYED_ORDERS } from './order-queues.js';

const settings = bridgeSettings({ KAFKA_TOPIC_PREFIX: 'a.' });

const source = { topic: 'a.erp.work-orders.v1', partition: 3, offset: 7, messageId: 'm-1' };
const change = { machineId: 'M-1', orderId: '4711', operations: [], source };

describe('a record of a queue', () => {
  const queues = new OrderQueues(settings, createKafka(settings.kafka));
  Object.assign(queues, { readPartitionCounts: () => Promise.resolve(), tombstone: () => [] });
  const taken: unknown[] = [];
  const take = (_message: InboundMessage, content: unknown): void => {
    taken.push(content);
  };

  beforeEach(() => {
    taken.length = 0;
  });

  it('is read as it was written, with a key of its own', async () => {
    const [record, other] = [0, 1].map(() => queues.queueRecord(ASSIGNMENT_CHANGES, 5, change));
    expect(record).toMatchObject({ topic: `a.${ASSIGNMENT_CHANGES}`, partition: 5 });
    expect(record?.key).not.toBe(other?.key);
    const value = Buffer.from(String(record?.value));
    await queues.handleQueue(ASSIGNMENT_CHANGES, [inboundMessage({ value })], take);
    expect(taken).toEqual([change]);
  });

  it('fails alone after a bug of the bridge', async () => {
    const bug = new Error('a bug');
    const value = Buffer.from(String(queues.queueRecord(ASSIGNMENT_CHANGES, 5, change).value));
    const [first, second] = [inboundMessage({ value }), inboundMessage({ value })];
    await queues.handleQueue(ASSIGNMENT_CHANGES, [first, second], (message, content) => {
      if (message === first) throw bug;
      take(message, content);
    });
    expect([first.ends, taken]).toEqual([[bug], [change]]);
  });

  it('is finished at once if it is a tombstone', async () => {
    const message = inboundMessage();
    await queues.handleQueue(RELAYED_ORDERS, [message], take);
    expect([taken, message.ends]).toEqual([[], ['finished']]);
  });

  const unreadable = new Error('unreadable, or not written by this version of the bridge');

  it('fails if its value could not be decompressed: that is not a tombstone', async () => {
    const rejection = { code: 'too-large', detail: 'beyond the bound' } as const;
    const message = inboundMessage({ unreadable: { rejection, omittedBytes: 1 } });
    await queues.handleQueue(RELAYED_ORDERS, [message], take);
    expect([taken, message.ends]).toEqual([[], [unreadable]]);
  });

  it.each([
    ['{', RELAYED_ORDERS],
    ['null', RELAYED_ORDERS],
    ['{"changes":[{"machineId":"M-1","orders":[],"source":{}}]}', ASSIGNMENT_CHANGES],
    ['{"orderId":"4711","source":{},"messages":[]}', ASSIGNMENT_CHANGES],
    ['{"orderId":"4711","source":{}}', ORDER_REFUSALS],
  ] as const)('fails where this version has not written it: %s', async (text, queue) => {
    const message = inboundMessage({ value: Buffer.from(text) });
    await queues.handleQueue(queue, [message], take);
    expect([taken, message.ends]).toEqual([[], [unreadable]]);
  });

  it('carries refusals of an order to the partition of its message', async () => {
    const answered = queues.outcomeTarget(inboundMessage(), change);
    expect(answered).toMatchObject({ source, orderId: '4711' });
    const rejection = { code: 'unknown-machine', detail: 'no M-1' } as const;
    const fault = { kind: 'rejected', machineId: 'M-1', attempts: 1, rejection } as const;
    const record = answered.refusal!([fault]);
    expect(record).toMatchObject({ topic: `a.${ORDER_REFUSALS}`, partition: 3 });
    await queues.handleQueue(
      ORDER_REFUSALS,
      [inboundMessage({ value: Buffer.from(String(record.value)) })],
      take,
    );
    const faults = [{ ...fault, orderId: '4711' }];
    expect(taken).toEqual([{ orderId: '4711', source, faults }]);
  });
});
