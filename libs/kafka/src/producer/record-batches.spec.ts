import fc from 'fast-check';
import type { OutboundRecord } from './outbound-record.js';
import { batchesOf, byteLength, toTopicMessages } from './record-batches.js';

describe('batchesOf', () => {
  it('are all in order, as full as they can be, and what is too large alone', () => {
    const keys = fc.array(fc.string({ maxLength: 2000 }), { maxLength: 20 });
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 5000 }), (all, maxBytes) => {
        const records = all.map((key): OutboundRecord => {
          return { topic: 'a-topic', key, value: null, headers: {} };
        });
        const batches = [...batchesOf(records, maxBytes)];
        expect(batches.flat()).toEqual(records);
        const sizeOf = (batch: readonly OutboundRecord[]): number =>
          batch.reduce((sum, record) => sum + byteLength(record), 0);
        batches.forEach((batch, index) => {
          expect(batch.length).toBeGreaterThan(0);
          if (batch.length > 1) expect(sizeOf(batch)).toBeLessThanOrEqual(maxBytes);
          const [next] = batches[index + 1] ?? [];
          if (next) expect(sizeOf(batch) + byteLength(next)).toBeGreaterThan(maxBytes);
        });
      }),
    );
  });
});

const headers = { 'content-type': 'application/json' };

describe('toTopicMessages', () => {
  it('groups the records of each topic in their order', () => {
    const records = ['a 1', 'b 1', 'a 2', 'b 2', 'a 3'].map((value) => ({
      topic: value.charAt(0),
      key: 'M-1',
      value,
      headers,
    }));
    const message = (value: string) => ({ key: 'M-1', value, headers });
    expect(toTopicMessages(records)).toMatchObject([
      { topic: 'a', messages: ['a 1', 'a 2', 'a 3'].map(message) },
      { topic: 'b', messages: ['b 1', 'b 2'].map(message) },
    ]);
  });

  it('keeps bytes, tombstones and a partition as they are', () => {
    const key = Buffer.from([0xff]);
    const record = { topic: 'a', key, value: null, headers: {}, partition: 3 };
    expect(toTopicMessages([record])).toMatchObject([
      { topic: 'a', messages: [{ key, value: null, headers: {}, partition: 3 }] },
    ]);
  });

  it('makes nothing of nothing', () => {
    expect(toTopicMessages([])).toEqual([]);
  });
});
