import fc from 'fast-check';
import {
  type NewDeadLetter,
  deadLetterFields,
  deadLetterHeaders,
  originalHeaders,
} from './dead-letters.js';
import type { MessageHeaders } from './envelope.js';

const deadLetter: NewDeadLetter = {
  code: 'unknown-machine',
  detail: 'the service lists no machine M-9',
  sourceTopic: 'p1.erp.work-order-lists.v1',
  sourcePartition: 2,
  sourceOffset: '41',
  sourceTimestamp: '1763680000123',
  failedAt: 1_763_680_060,
  attempts: 0,
};

const asBytes = (headers: Record<string, string>): MessageHeaders =>
  Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)]);

describe('deadLetterHeaders', () => {
  it('name the source, the time and the reason', () => {
    expect(deadLetterHeaders({ ...deadLetter, detail: 'a line\nand another' })).toEqual({
      'dlq-code': 'unknown-machine',
      'dlq-detail': 'a line\ufffdand another',
      'dlq-source-topic': 'p1.erp.work-order-lists.v1',
      'dlq-source-partition': '2',
      'dlq-source-offset': '41',
      'dlq-source-timestamp': '1763680000123',
      'dlq-failed-at': '1763680060',
      'dlq-attempts': '0',
    });
  });

  it('list the machines at fault, also with commas in their ids', () => {
    const headers = deadLetterHeaders({ ...deadLetter, httpStatus: 422, machineIds: ['a,b', 'c'] });

    expect(headers['dlq-http-status']).toBe('422');
    expect(headers['dlq-machine-ids']).toBe('a%2Cb,c');
  });
});

describe('deadLetterFields', () => {
  it('reads back what was written', () => {
    expect(deadLetterFields(asBytes(deadLetterHeaders(deadLetter)))).toEqual({
      code: 'unknown-machine',
      detail: 'the service lists no machine M-9',
      sourceTopic: 'p1.erp.work-order-lists.v1',
      sourcePartition: 2,
      sourceOffset: 41,
      sourceTimestamp: 1_763_680_000_123,
      failedAt: 1_763_680_060,
      attempts: 0,
      httpStatus: undefined,
      machineIds: undefined,
      valueOmittedBytes: undefined,
    });
  });

  it('reads any machine ids back exactly', () => {
    const ids = fc.array(fc.string({ minLength: 1 }), { minLength: 1 });
    fc.assert(
      fc.property(ids, (machineIds) => {
        const headers = asBytes(deadLetterHeaders({ ...deadLetter, machineIds }));
        expect(deadLetterFields(headers).machineIds).toEqual(machineIds);
      }),
    );
  });

  it('treats unreadable headers as absent, and keeps an id that is not encoded', () => {
    const headers = {
      'dlq-failed-at': 'soon',
      'dlq-attempts': '-1',
      'dlq-machine-ids': '100%,M-1',
    };
    expect(deadLetterFields(Object.entries(headers))).toMatchObject({
      failedAt: undefined,
      attempts: undefined,
      machineIds: ['100%', 'M-1'],
    });
  });
});

describe('originalHeaders', () => {
  it('removes only the headers that the bridge adds', () => {
    const original: MessageHeaders = [
      ['trace', 'a'],
      ['dlq-of-the-sender', null],
      ['10', Buffer.from([0xff])],
      ['DLQ-Code', 'c'],
      ['9', ''],
      ['trace', 'd'],
    ];
    const why = deadLetterHeaders({ ...deadLetter, httpStatus: 422, machineIds: ['M-1'] });
    const added: MessageHeaders = [...Object.entries(why), ['dlq-value-omitted', '7']];
    expect(originalHeaders([...original, ...added])).toEqual(original);
    expect(originalHeaders([...added, ...original])).toEqual(original);
  });
});
