import fc from 'fast-check';
import { type OutboundRecord } from './outbound-record.js';
import { batchesOf, byteLength, takeBatch } from './take-batch.js';

const MAX_BYTES = 100;

describe('takeBatch', () => {
  it('takes all in order, in batches as full as they can be, and what is too large alone', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 50 });
    fc.assert(
      fc.property(sizes, (all) => {
        const pending = all.map((bytes, index) => ({ bytes, index }));
        const taken: number[] = [];
        while (pending.length > 0) {
          const batch = takeBatch(pending, MAX_BYTES);
          const total = batch.reduce((sum, { bytes }) => sum + bytes, 0);
          expect(batch.length).toBeGreaterThan(0);
          if (batch.length > 1) expect(total).toBeLessThanOrEqual(MAX_BYTES);
          const next = pending[0];
          if (next !== undefined) expect(total + next.bytes).toBeGreaterThan(MAX_BYTES);
          taken.push(...batch.map(({ index }) => index));
        }
        expect(taken).toEqual(all.map((_, index) => index));
      }),
    );
  });

  it('takes nothing from nothing', () => {
    expect(takeBatch([], MAX_BYTES)).toEqual([]);
  });
});

describe('batchesOf', () => {
  it('are those that takeBatch takes, one after the other', () => {
    const keys = fc.array(fc.string({ maxLength: 2000 }), { maxLength: 20 });
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 5000 }), (all, maxBytes) => {
        const records = all.map((key): OutboundRecord => {
          return { topic: 'a-topic', key, value: null, headers: {} };
        });
        const pending = records.map((record) => ({ record, bytes: byteLength(record) }));
        const taken: OutboundRecord[][] = [];
        while (pending.length > 0) {
          taken.push(takeBatch(pending, maxBytes).map(({ record }) => record));
        }
        expect([...batchesOf(records, maxBytes)]).toEqual(taken);
      }),
    );
  });
});

describe('byteLength', () => {
  it('counts bytes, not characters, and room for what frames them', () => {
    const empty = byteLength({ key: null, value: null });
    expect(empty).toBeGreaterThan(0);
    expect(byteLength({ key: 'Süd', value: Buffer.alloc(10) })).toBe(empty + 4 + 10);
  });
});
