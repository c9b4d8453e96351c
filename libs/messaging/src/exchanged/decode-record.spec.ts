import { createRequire } from 'node:module';
import fc from 'fast-check';
import { type BatchContext, type DecodedRecord, decodeRecord } from './decode-record.js';
import { encodeRecord, type RecordFields } from './testing/encode-record.js';

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => {
  readVarIntBytes: () => Buffer;
  buffer: Buffer;
};
const byKafkajs = require('kafkajs/src/protocol/recordBatch/record/v0/decoder.js') as (
  decoder: object,
  batch: BatchContext,
) => DecodedRecord;

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
// What an object inherits under such a name is taken for a header by kafkajs.
const name = fc.string({ maxLength: 20 }).filter((text) => !(text in {}));
const record: fc.Arbitrary<RecordFields> = fc.record(
  {
    offsetDelta: fc.nat({ max: 2 ** 21 }),
    timestampDelta: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
    key: fc.option(bytes),
    value: fc.option(bytes),
    headers: fc.dictionary(name, fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 })), {
      maxKeys: 9,
    }),
  },
  { requiredKeys: ['value'] },
);
const batch: fc.Arbitrary<BatchContext> = fc.record({
  firstOffset: fc.maxSafeNat().map((offset) => String(Math.floor(offset / 4))),
  firstTimestamp: fc.nat({ max: 2 ** 31 - 1 }).map((seconds) => String(seconds * 1000)),
  maxTimestamp: fc.constant('1763680000123'),
  timestampType: fc.constantFrom(0, 1),
  magicByte: fc.constant(2),
  isControlBatch: fc.boolean(),
});

/** The bytes behind the length, in the middle of a fetch. */
function windowOf(fields: RecordFields): { buffer: Buffer } {
  const encoded = Buffer.concat([Buffer.from('before'), encodeRecord(fields)]);
  const decoder = new Decoder(encoded.subarray('before'.length));
  return new Decoder(decoder.readVarIntBytes());
}

const plain = ({ headers, ...rest }: DecodedRecord): object => ({
  ...rest,
  headers: { ...headers },
});

describe('the decoding of a record', () => {
  it('is that of kafkajs', () => {
    expect(byKafkajs).not.toBe(decodeRecord);
    fc.assert(
      fc.property(record, batch, (fields, context) => {
        const expected = byKafkajs(windowOf(fields), context);
        expect(plain(decodeRecord(windowOf(fields), context))).toEqual(plain(expected));
      }),
      { numRuns: 1000 },
    );
  });

  const context: BatchContext = { firstOffset: '7', firstTimestamp: '1763680000123' };

  it('keeps nothing of the fetch alive', () => {
    const window = windowOf({ key: 'key', value: 'value', headers: { name: 'one' } });
    const { key, value, headers } = decodeRecord(window, context);
    window.buffer.fill('x');
    expect([key, value, headers['name']].map(String)).toEqual(['key', 'value', 'one']);
  });

  it('tells key and value that are not there from empty ones', () => {
    expect(decodeRecord(windowOf({ value: null }), context)).toMatchObject({
      key: null,
      value: null,
    });
    const empty = { key: '', value: '' };
    expect(decodeRecord(windowOf(empty), context)).toMatchObject({
      key: Buffer.alloc(0),
      value: Buffer.alloc(0),
    });
  });

  it('takes no header for another because every object has it', () => {
    const names = ['constructor', 'toString', '__proto__'];
    const headers = Object.fromEntries(names.map((it) => [it, it]));
    const { headers: read } = decodeRecord(windowOf({ value: 'v', headers }), context);
    expect(Object.entries(read).map(([it, value]) => [it, String(value)])).toEqual(
      names.map((it) => [it, it]),
    );
  });

  it('makes a null value of a header, which other clients may send, an empty one', () => {
    const { buffer } = windowOf({ value: 'v', headers: { name: '' } });
    const withNull = Buffer.from(buffer);
    withNull[withNull.length - 1] = 1;
    expect(decodeRecord({ buffer: withNull }, context).headers['name']).toEqual(Buffer.alloc(0));
  });
});
