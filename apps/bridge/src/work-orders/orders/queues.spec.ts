import type { InboundMessage } from '#libs/kafka';
import {
  answeredBy,
  ASSIGNMENT_CHANGES,
  ORDER_REFUSALS,
  queueRecord,
  RELAYED_ORDERS,
  takeEach,
} from './queues.js';
import { inboundMessage } from '../../delivery/testing/inbound-message.js';

const source = { topic: 'a.erp.work-orders.v1', partition: 3, offset: 7, messageId: 'm-1' };
const change = { machineId: 'M-1', orderId: '4711', operations: [], source };

describe('a record between parts of the flow', () => {
  const taken: unknown[] = [];
  const take = (_message: InboundMessage, content: unknown): void => {
    taken.push(content);
  };

  beforeEach(() => {
    taken.length = 0;
  });

  it('is read as it was written, under a key of its own', () => {
    const [record, other] = [0, 1].map(() => queueRecord('a.', ASSIGNMENT_CHANGES, 5, change));
    expect(record).toMatchObject({ topic: `a.${ASSIGNMENT_CHANGES}`, partition: 5 });
    expect(record?.key).not.toBe(other?.key);
    const value = Buffer.from(String(record?.value));
    takeEach(ASSIGNMENT_CHANGES, [inboundMessage({ value })], take);
    expect(taken).toEqual([change]);
  });

  it('fails alone where a bug of ours does not let it be taken', () => {
    const bug = new Error('a bug');
    const value = Buffer.from(String(queueRecord('a.', ASSIGNMENT_CHANGES, 5, change).value));
    const [first, second] = [inboundMessage({ value }), inboundMessage({ value })];
    takeEach(ASSIGNMENT_CHANGES, [first, second], (message, content) => {
      if (message === first) throw bug;
      take(message, content);
    });
    expect([first.ends, taken]).toEqual([[bug], [change]]);
  });

  it('is done at once where it is the tombstone of one that has ended', () => {
    const message = inboundMessage();
    takeEach(RELAYED_ORDERS, [message], take);
    expect([taken, message.ends]).toEqual([[], ['finished']]);
  });

  const unreadable = new Error('unreadable, or not written by this version of the bridge');

  it('fails where its value could not be unpacked: it is no tombstone', () => {
    const rejection = { code: 'too-large', detail: 'beyond the bound' } as const;
    const message = inboundMessage({ unreadable: { rejection, omittedBytes: 1 } });
    takeEach(RELAYED_ORDERS, [message], take);
    expect([taken, message.ends]).toEqual([[], [unreadable]]);
  });

  it.each([
    ['{', RELAYED_ORDERS],
    ['null', RELAYED_ORDERS],
    ['{"changes":[{"machineId":"M-1","orders":[],"source":{}}]}', ASSIGNMENT_CHANGES],
    ['{"orderId":"4711","source":{},"messages":[]}', ASSIGNMENT_CHANGES],
    ['{"orderId":"4711","source":{}}', ORDER_REFUSALS],
  ] as const)('fails where this version has not written it: %s', (text, queue) => {
    const message = inboundMessage({ value: Buffer.from(text) });
    takeEach(queue, [message], take);
    expect([taken, message.ends]).toEqual([[], [unreadable]]);
  });

  it('takes what is refused of an order back to the partition of its message', () => {
    const answered = answeredBy('a.', inboundMessage(), change);
    expect(answered).toMatchObject({ messageId: 'm-1', orderId: '4711' });
    const rejection = { code: 'unknown-machine', detail: 'no M-1' } as const;
    const fault = { kind: 'rejected', machineId: 'M-1', attempts: 1, rejection } as const;
    const record = answered.origin!.refusal([fault]);
    expect(record).toMatchObject({ topic: `a.${ORDER_REFUSALS}`, partition: 3 });
    takeEach(ORDER_REFUSALS, [inboundMessage({ value: Buffer.from(String(record.value)) })], take);
    const faults = [{ ...fault, orderId: '4711' }];
    expect(taken).toEqual([{ orderId: '4711', source, faults }]);
  });
});
