import { createRequire } from 'node:module';
import fc from 'fast-check';
import { type EncodedRecord, encodeRecord, type RecordFields } from './encode-record.js';

const require = createRequire(import.meta.url);
const byKafkajs = require('kafkajs/src/protocol/recordBatch/record/v0/index.js') as (
  record: RecordFields,
) => Pick<EncodedRecord, 'buffer'>;

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ minLength: 100, maxLength: 9000 }),
);
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const part = fc.oneof(text, bytes);
const record: fc.Arbitrary<RecordFields> = fc.record(
  {
    offsetDelta: fc.nat({ max: 2 ** 21 }),
    timestampDelta: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
    key: fc.option(part),
    value: fc.option(part),
    headers: fc.dictionary(text, fc.oneof(part, fc.array(part, { maxLength: 3 })), { maxKeys: 9 }),
  },
  { requiredKeys: ['value'] },
);

describe('the encoding of a record', () => {
  it('is to the byte that of kafkajs', () => {
    expect(byKafkajs).not.toBe(encodeRecord);
    fc.assert(
      fc.property(record, (fields) => {
        const expected = byKafkajs(fields).buffer.toString('hex');
        expect(encodeRecord(fields).buffer.toString('hex')).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['a value', { value: 5 }],
    ['a header', { value: 'v', headers: { name: undefined } }],
    ['one of several values of a header', { value: 'v', headers: { name: ['text', null] } }],
  ])('refuses %s that is neither text nor bytes', (_, fields) => {
    expect(() => encodeRecord(fields as unknown as RecordFields)).toThrow(
      expect.objectContaining({ name: 'TypeError' }) as Error,
    );
  });
});
