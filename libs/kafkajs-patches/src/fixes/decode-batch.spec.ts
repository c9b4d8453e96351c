import { createRequire } from 'node:module';
import fc from 'fast-check';
import { decodeBatch, type DecodedBatch, type Fetched } from './decode-messages.js';
import { type DecodedRecord } from './fetched-record.js';
import { encodeRecord, plainRecord, recordFields } from '../testing/records.js';
import { batchUnpacker } from './unpack-batch.js';

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => Fetched;
const byKafkajs = require('kafkajs/src/protocol/recordBatch/v0/decoder.js') as typeof decodeBatch;
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0/index.js') as {
  RecordBatch: (fields: object) => Promise<{ buffer: Buffer }>;
};

const NONE = 0;
const GZIP = 1;
const LOG_APPEND_TIME = 0x08;
const CONTROL = 0x20;
const ATTRIBUTES_AT = 22;

const batchFields = fc.record({
  records: fc.array(recordFields, { maxLength: 20 }),
  compression: fc.constantFrom(NONE, GZIP),
  firstOffset: fc.maxSafeNat().map((offset) => String(Math.floor(offset / 4))),
  firstTimestamp: fc.nat({ max: 2 ** 31 - 1 }).map((seconds) => String(seconds * 1000)),
  maxTimestamp: fc.constant('1763680000123'),
  partitionLeaderEpoch: fc.nat({ max: 1000 }),
  lastOffsetDelta: fc.nat({ max: 1000 }),
  transactional: fc.boolean(),
  producerId: fc.bigInt({ min: -1n, max: 2n ** 63n - 1n }).map(String),
  producerEpoch: fc.nat({ max: 2 ** 15 - 1 }),
  firstSequence: fc.nat({ max: 2 ** 31 - 1 }),
});
type BatchFields = typeof batchFields extends fc.Arbitrary<infer T> ? T : never;

async function encode(fields: BatchFields, flags = 0): Promise<Buffer> {
  const records = fields.records.map((record) => {
    const buffer = encodeRecord(record);
    return { buf: buffer, buffer };
  });
  const { buffer } = await RecordBatch({ ...fields, records });
  const batch = Buffer.from(buffer);
  batch[ATTRIBUTES_AT] = (batch[ATTRIBUTES_AT] ?? 0) | flags;
  return batch;
}

const plain = ({ records, ...batch }: DecodedBatch): object => ({
  ...batch,
  records: (records as DecodedRecord[]).map(plainRecord),
});

const recordsOf = async (fetch: Buffer): Promise<DecodedRecord[]> =>
  (await decodeBatch(new Decoder(fetch))).records as DecodedRecord[];

describe('the decoding of a record batch', () => {
  it('is that of kafkajs, in the middle of a fetch', async () => {
    expect(byKafkajs).not.toBe(decodeBatch);
    const flags = fc.constantFrom(0, LOG_APPEND_TIME, CONTROL);
    await fc.assert(
      fc.asyncProperty(batchFields, flags, async (fields, more) => {
        const batch = await encode(fields, more);
        const fetch = Buffer.concat([Buffer.from('before'), batch, batch]);
        const [expected, ours] = [new Decoder(fetch), new Decoder(fetch)];
        expected.offset = ours.offset = 'before'.length;
        expect(plain(await decodeBatch(ours))).toEqual(plain(await byKafkajs(expected)));
        expect(ours.offset).toBe(expected.offset);
      }),
      { numRuns: 100 },
    );
  });

  const lastOffsetDelta = 2;
  const few = { compression: NONE, lastOffsetDelta } as BatchFields;
  const texts = ['one', 'x'.repeat(10_000), 'three'];
  const records = texts.map((value, offsetDelta) => ({ value, offsetDelta }));

  it('keeps nothing of the fetch alive', async () => {
    const fetch = await encode({ ...few, records });
    const decoded = await recordsOf(fetch);
    fetch.fill('x');
    expect(decoded.map(({ value }) => String(value))).toEqual(texts);
  });

  it('keeps not much more alive than one record that waits', async () => {
    const many = Array.from({ length: 200 }, () => ({ value: 'x'.repeat(400) }));
    const decoded = await recordsOf(await encode({ ...few, records: many }));
    for (const { value } of decoded) expect(value?.buffer.byteLength).toBeLessThan(10_000);
  });

  it.each<[string, BatchFields['compression']]>([
    ['as it is', NONE],
    ['compressed', GZIP],
  ])('leaves out a record that is too large, and reads its neighbours: %s', async (_, codec) => {
    const sent = [{ value: 'before' }, { value: Buffer.alloc(33_600_000) }, { value: 'behind' }];
    const inOrder = sent.map((record, offsetDelta) => ({
      ...record,
      ...{ offsetDelta, timestampDelta: 10 * offsetDelta },
    }));
    const first = { firstOffset: '7', firstTimestamp: '1000' };
    const batch = await encode({ ...few, ...first, compression: codec, records: inOrder });
    const decoded = await recordsOf(batch);
    expect(decoded.map(({ position, timestamp }) => [position, timestamp])).toEqual(
      [0, 1, 2].map((delta) => [7 + delta, String(1000 + 10 * delta)]),
    );
    const [before, omitted, behind] = decoded;
    expect([before, behind].map((it) => String(it?.value))).toEqual(['before', 'behind']);
    expect(omitted).toMatchObject({
      value: null,
      unreadable: { rejection: { code: 'too-large' }, omittedBytes: expect.any(Number) as number },
    });
  });

  it('may unpack to fewer bytes the more records it has: half of the records leave 62.5 %', async () => {
    const { maxBytes } = batchUnpacker;
    batchUnpacker.maxBytes = 8_000_000;
    const half = async (valueBytes: number): Promise<Buffer> => {
      const value = 'x'.repeat(valueBytes);
      const halfOfAll = Array.from({ length: 50_000 }, (_, offsetDelta) => ({
        value,
        offsetDelta,
      }));
      const batch = { compression: GZIP, lastOffsetDelta: halfOfAll.length - 1 } as BatchFields;
      return encode({ ...batch, records: halfOfAll });
    };
    expect(await recordsOf(await half(80))).toHaveLength(50_000);
    const [refused, ...others] = await recordsOf(await half(100));
    batchUnpacker.maxBytes = maxBytes;
    expect(others).toEqual([]);
    expect(refused).toMatchObject({
      unreadable: {
        rejection: {
          code: 'too-large',
          detail: expect.stringContaining('5000000 bytes (gzip)') as string,
        },
      },
    });
  });

  it('fails when the fetch ends within it, in the way kafkajs knows', async () => {
    const fetch = await encode({ ...few, records });
    for (const decode of [byKafkajs, decodeBatch]) {
      await expect(decode(new Decoder(fetch.subarray(0, -1)))).rejects.toMatchObject({
        name: 'KafkaJSPartialMessageError',
      });
    }
  });
});
