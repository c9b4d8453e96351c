import { createRequire } from 'node:module';
import fc from 'fast-check';
import type { MessageHeaders } from '#libs/contracts';
import { type BatchContext, Cursor, DecodedRecord } from './fetched-record.js';
import { FrameWriter } from '../speed/produce-request.js';
import {
  anyCharacter,
  encodeRecord,
  type KafkajsRecord,
  plainRecord,
  recordFields,
  type RecordFields,
} from '../testing/records.js';

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => {
  readVarIntBytes: () => Buffer;
  offset: number;
};
const decodeByKafkajs = require('kafkajs/src/protocol/recordBatch/record/v0/decoder.js') as (
  decoder: object,
  batch: BatchContext,
) => KafkajsRecord;

const batch: fc.Arbitrary<BatchContext> = fc.record({
  firstOffset: fc.maxSafeNat().map((offset) => String(Math.floor(offset / 4))),
  firstTimestamp: fc.nat({ max: 2 ** 31 - 1 }).map((seconds) => String(seconds * 1000)),
  maxTimestamp: fc.constant('1763680000123'),
  timestampType: fc.constantFrom(0, 1),
  magicByte: fc.constant(2),
  isControlBatch: fc.boolean(),
});

const context: BatchContext = { firstOffset: '7', firstTimestamp: '1763680000123' };

/** With other bytes around those of the record. */
function read(fields: RecordFields, batchContext = context): DecodedRecord {
  const encoded = encodeRecord(fields);
  const decoder = new Decoder(encoded);
  const length = decoder.readVarIntBytes().length;
  const start = 6 + encoded.length - length;
  const whole = Buffer.concat([Buffer.from('before'), encoded, Buffer.from('behind')]);
  return new DecodedRecord(whole, start, start + length, batchContext);
}

/** A record of our writing, its length before it: kafkajs's knows less of headers. */
function encodeWith(headers: MessageHeaders): Buffer {
  const writer = new FrameWriter();
  writer.record({ key: 'k', value: 'v', headers }, 0, 0);
  return writer.end();
}

function readBack(headers: MessageHeaders): DecodedRecord {
  const encoded = encodeWith(headers);
  const cursor = new Cursor(encoded, 0);
  expect(cursor.varint()).toBe(encoded.length - cursor.at);
  return new DecodedRecord(encoded, cursor.at, encoded.length, context);
}

function byKafkajs(encoded: Buffer, batchContext: BatchContext): KafkajsRecord {
  return decodeByKafkajs(new Decoder(new Decoder(encoded).readVarIntBytes()), batchContext);
}

describe('a decoded record', () => {
  it("equals kafkajs's record, however often it is read", () => {
    fc.assert(
      fc.property(recordFields, batch, (fields, batchContext) => {
        const expected = plainRecord(byKafkajs(encodeRecord(fields), batchContext));
        const record = read(fields, batchContext);
        expect(plainRecord(record)).toEqual(expected);
        expect(plainRecord(record)).toEqual(expected);
        expect(String(record.position)).toBe(record.offset);
      }),
      { numRuns: 100 },
    );
  });

  it('has the size that its length states', () => {
    const value = 'x'.repeat(1000);
    // The attributes, two deltas, no key, two bytes for the value's length, no headers.
    expect(read({ value }).bytes).toBe(1 + 1 + 1 + 1 + 2 + 1000 + 1);
  });

  it.each([
    [1000, 1000, undefined],
    [1001, 1001, 'the message has 1001 headers, more than 1000: left out'],
    [2001, 0, 'the message has 2001 headers, more than 1000: left out'],
  ])('is rejected with more headers than a message may have: %i', (count, read, detail) => {
    const record = readBack(Array.from({ length: count }, () => ['name', null]));
    expect(record.unreadable?.rejection).toEqual(detail && { code: 'too-large', detail });
    expect(record.headerList).toHaveLength(read);
  });

  it.each([
    [1, undefined],
    [2, 'the message has 262151 bytes of headers, more than 262144: left out'],
  ])(
    'is rejected with more bytes of headers than a message may have: %i large ones',
    (count, detail) => {
      const value = Buffer.alloc(131_070);
      const record = readBack(Array.from({ length: count }, () => ['n', value]));
      expect(record.unreadable?.rejection).toEqual(detail && { code: 'too-large', detail });
    },
  );

  describe('with headers as Kafka allows them', () => {
    const name = fc.oneof(
      // Few, so that they come again, and what objects put first or have of their own.
      fc.constantFrom('a', 'b', '10', '9', 'constructor', '__proto__'),
      fc.string({ unit: anyCharacter, maxLength: 60 }),
    );
    const value = fc.option(fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)));
    const headerList = fc.array(fc.tuple(name, value), { maxLength: 9 });

    it('has each header as written and in order', () => {
      fc.assert(
        fc.property(headerList, (headers) => expect(readBack(headers).headerList).toEqual(headers)),
        { numRuns: 100 },
      );
    });
  });
});
