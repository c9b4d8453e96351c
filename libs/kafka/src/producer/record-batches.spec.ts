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

describe('toTopicMessages', () => {
  it('groups the records of each topic in their order, as they are', () => {
    const records = ['a 1', 'b 1', 'a 2', 'b 2', 'a 3'].map((value, partition) => ({
      ...{ topic: value.charAt(0), key: Buffer.from([0xff]), partition },
      ...{ value: value === 'b 2' ? null : value, headers: { name: 'of a header' } },
    }));
    const [a1, b1, a2, b2, a3] = records;
    expect(toTopicMessages(records)).toMatchObject([
      { topic: 'a', messages: [a1, a2, a3] },
      { topic: 'b', messages: [b1, b2] },
    ]);
    expect(toTopicMessages([])).toEqual([]);
  });
});
