import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import {
  decodeBatch,
  type DecodedBatch,
  type DecodeMessages,
  type Fetched,
  withBatchesOfAnySize,
} from './decode-messages.js';
import type { DecodedRecord } from './fetched-record.js';
import { batchUnpacker } from './unpack-batch.js';
import { encodeRecord, plainRecord, recordFields } from './testing/records.js';
import { applyPatches } from './apply-patches.js';

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => Fetched;
const byKafkajs =
  require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js') as DecodeMessages;
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0/index.js') as {
  RecordBatch: (fields: object) => Promise<{ buffer: Buffer }>;
};

const batchByKafkajs =
  require('kafkajs/src/protocol/recordBatch/v0/decoder.js') as typeof decodeBatch;

const ours = withBatchesOfAnySize(byKafkajs);

const NONE = 0;
const GZIP = 1;
const PACKED = { compression: GZIP };

/** Places in a batch, whose length does not count the bytes up to its own end. */
const [LENGTH_AT, PREFIX_BYTES, COUNT_AT, RECORDS_AT] = [8, 12, 57, 61];

const recordOf = (value: string, offsetDelta: number) => encodeRecord({ value, offsetDelta });

async function batchOf(
  firstOffset: number,
  encoded: readonly Buffer[],
  {
    compression = NONE,
    count = encoded.length,
    lastOffsetDelta = count - 1,
  }: { compression?: number; count?: number; lastOffsetDelta?: number } = {},
): Promise<Buffer> {
  const fields = {
    ...{ firstOffset: String(firstOffset), lastOffsetDelta, compression },
    ...{ producerId: '-1', producerEpoch: 0, firstSequence: 0, records: [] },
    ...{ firstTimestamp: '1763680000000', maxTimestamp: '1763680000000' },
  };
  const { buffer: head } = await RecordBatch(fields);
  // not by kafkajs, which takes seconds for many records or bytes
  const joined = Buffer.concat(encoded);
  const packed = compression === GZIP ? gzipSync(joined, { level: 1 }) : joined;
  const batch = Buffer.concat([head.subarray(0, RECORDS_AT), packed]);
  batch.writeInt32BE(batch.length - PREFIX_BYTES, LENGTH_AT);
  batch.writeInt32BE(count, COUNT_AT);
  return batch;
}

/** A partition's part of a fetch, with what comes behind it. */
function answerOf(...batches: Buffer[]): Buffer {
  const size = Buffer.alloc(4);
  const all = Buffer.concat(batches);
  size.writeInt32BE(all.length);
  return Buffer.concat([size, all, Buffer.from('behind')]);
}

async function read(answer: Buffer, decode: DecodeMessages) {
  const fetched = new Decoder(answer);
  const offsets = (await decode(fetched)).map(({ offset }) => offset);
  return { offsets, rest: answer.subarray(fetched.offset).toString() };
}

describe("the decoding of a partition's part of a fetch", () => {
  it('reads the records of all batches, as kafkajs does', async () => {
    const answer = answerOf(
      await batchOf(3, ['a', 'b'].map(recordOf)),
      await batchOf(9, [recordOf('c', 0)]),
    );
    expect(await read(answer, ours)).toEqual({ offsets: ['3', '4', '9'], rest: 'behind' });
    expect(await read(answer, byKafkajs)).toEqual(await read(answer, ours));
  });

  it.each([1, 40, 70])('leaves out a batch that lacks %i bytes', async (missing) => {
    const [first, second] = [
      await batchOf(3, [recordOf('a', 0)]),
      await batchOf(4, [recordOf('some text', 0)]),
    ];
    const answer = answerOf(first, second.subarray(0, -missing));
    expect(await read(answer, ours)).toEqual({ offsets: ['3'], rest: 'behind' });
    expect(await read(answer, byKafkajs)).toEqual(await read(answer, ours));
  });

  it('reads up to a batch with a damaged length, and fails like a broker if that is the first', async () => {
    const first = await batchOf(3, [recordOf('a', 0)]);
    const damaged = Buffer.from(await batchOf(4, [recordOf('b', 0)]));
    damaged.writeInt32BE(1, 8);
    const { offsets } = await read(answerOf(first, damaged), ours);
    expect(offsets).toEqual(['3']);
    const type = 'CORRUPT_MESSAGE';
    await expect(read(answerOf(damaged), ours)).rejects.toMatchObject({ type });
  });

  it('leaves an empty answer, and one in an older format, to kafkajs', async () => {
    expect(await read(answerOf(), ours)).toEqual({ offsets: [], rest: 'behind' });
    const older = Buffer.alloc(40);
    older.writeInt8(1, 16);
    const decoded = { offset: 'by kafkajs' };
    const delegating = withBatchesOfAnySize(() => Promise.resolve([decoded]));
    expect((await read(answerOf(older), delegating)).offsets).toEqual([decoded.offset]);
  });

  const manyRecords = (count: number): Buffer[] => {
    const many = new Array<Buffer>(count - 1).fill(recordOf('x', 0));
    return [...many, recordOf('x', count - 1)];
  };

  it('takes a batch of very many records, and leaves the next to another fetch', async () => {
    const many = manyRecords(100_000);
    const next = await batchOf(many.length, [recordOf('x', 0)]);
    const { offsets, rest } = await read(answerOf(await batchOf(0, many), next), ours);
    expect(offsets).toHaveLength(many.length);
    expect(offsets.at(-1)).toBe('99999');
    expect(rest).toBe('behind');
    expect((await read(answerOf(next), ours)).offsets).toEqual(['100000']);
  });

  it('takes several batches up to the limit of records', async () => {
    const first = await batchOf(0, manyRecords(24_999));
    const second = await batchOf(24_999, [recordOf('x', 0)]);
    expect((await read(answerOf(first, second), ours)).offsets).toHaveLength(25_000);
  });

  /** Unpacks to as much of a partition as is read at once. */
  const packedBatch = (firstOffset: number): Promise<Buffer> =>
    batchOf(firstOffset, [encodeRecord({ value: Buffer.alloc(8 * 1024 * 1024) })], PACKED);

  it('leaves the next batch to another fetch once 8 MiB have been unpacked', async () => {
    const answer = answerOf(await packedBatch(3), await packedBatch(4));
    expect((await read(answer, ours)).offsets).toEqual(['3']);
  });

  it('unpacks no more than 192 MiB of one fetch', async () => {
    const fetched = new Decoder(answerOf(await packedBatch(3)));
    for (let partition = 0; partition < 24; partition += 1) {
      fetched.offset = 0;
      expect(await ours(fetched)).toHaveLength(1);
    }
    fetched.offset = 0;
    expect(await ours(fetched)).toEqual([]);
  });

  it('makes a record for each offset of a batch that cannot be unpacked', async () => {
    const batch = await batchOf(7, manyRecords(3), PACKED);
    const headBytes = 61;
    expect((await read(answerOf(batch.fill(0xff, headBytes)), ours)).offsets).toEqual([
      '7',
      '8',
      '9',
    ]);
  });

  it('makes one record for a batch of more offsets, which would overflow the stack', async () => {
    const batch = await batchOf(7, manyRecords(3), { count: 300_000 });
    const { offsets } = await read(answerOf(batch), ours);
    expect(offsets).toEqual(['7', '300006']);
  });
});

/** In a format before Kafka 0.11. */
const encodeLegacy = require('kafkajs/src/protocol/messageSet/index.js') as (set: {
  messageVersion: number;
  compression: number;
  entries: readonly object[];
}) => { buffer: Buffer };

describe('a message in a format before Kafka 0.11', () => {
  it.each([
    ['key and value', 'a key', Buffer.from([0, 0xff]), 7],
    ['neither', null, null, 0],
    ['empty ones', '', Buffer.alloc(0), 0],
  ])('is read like any other, with %s', async (_, key, value, bytes) => {
    const timestamp = 1_763_680_000_123;
    const entries = [{ key, value, timestamp }];
    const message = Buffer.from(
      encodeLegacy({ messageVersion: 1, compression: 0, entries }).buffer,
    );
    message.writeBigInt64BE(7n, 0);
    expect(await ours(new Decoder(answerOf(message)))).toMatchObject([
      {
        ...{ position: 7, offset: '7', timestamp: String(timestamp), headerList: [], bytes },
        ...{ key: key === null ? null : Buffer.from(key), value },
      },
    ]);
  });
});

interface Batch {
  rawMessages: { offset: string }[];
  messages: { offset: string }[];
  lastOffset: () => string;
}

/** An answer to a fetch: a record batch of offsets 5 to 8, of which these are left. */
async function answerWith(...left: number[]): Promise<Buffer> {
  const records = left.map((offset) => recordOf('text', offset - 5));
  return answerOf(await batchOf(5, records, { lastOffsetDelta: 3 }));
}

describe('a record batch whose end has been compacted away', () => {
  beforeAll(applyPatches);

  const read = async (answer: Buffer): Promise<Batch> => {
    const decode =
      require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js') as DecodeMessages;
    const BatchOf = require('kafkajs/src/consumer/batch.js') as new (
      ...fetched: [topic: string, offset: string, data: object]
    ) => Batch;
    const messages = await decode(new Decoder(answer));
    const data = { partition: 0, highWatermark: '100', abortedTransactions: [], messages };
    return new BatchOf('a-topic', '6', data);
  };

  it.each([
    ['nothing', [], []],
    ['what has been read before', [5], []],
    ['a record', [6], ['6']],
  ])('gives kafkajs its last offset when %s is left in it', async (_, left, expected) => {
    const batch = await read(await answerWith(...left));
    expect(batch.messages.map(({ offset }) => offset)).toEqual(expected);
    expect(batch.lastOffset()).toBe('8');
  });

  it('has its records decoded by the patch, and no added end if its last record remains', async () => {
    const { rawMessages } = await read(await answerWith(6, 8));
    expect(rawMessages[0]).toHaveProperty('headerList', []);
    expect(rawMessages.map(({ offset }) => offset)).toEqual(['6', '8']);
  });
});

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
    expect(batchByKafkajs).not.toBe(decodeBatch);
    const flags = fc.constantFrom(0, LOG_APPEND_TIME, CONTROL);
    await fc.assert(
      fc.asyncProperty(batchFields, flags, async (fields, more) => {
        const batch = await encode(fields, more);
        const fetch = Buffer.concat([Buffer.from('before'), batch, batch]);
        const [expected, ours] = [new Decoder(fetch), new Decoder(fetch)];
        expected.offset = ours.offset = 'before'.length;
        expect(plain(await decodeBatch(ours))).toEqual(plain(await batchByKafkajs(expected)));
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

  it('keeps little more alive than one waiting record', async () => {
    const many = Array.from({ length: 200 }, () => ({ value: 'x'.repeat(400) }));
    const decoded = await recordsOf(await encode({ ...few, records: many }));
    for (const { value } of decoded) expect(value?.buffer.byteLength).toBeLessThan(10_000);
  });

  it.each([
    ['as it is', NONE],
    ['compressed', GZIP],
  ])('leaves out a record that is too large, and reads its neighbours: %s', async (_, codec) => {
    const values = ['before', Buffer.alloc(33_600_000), 'behind'];
    const encoded = values.map((value, offsetDelta) =>
      encodeRecord({ value, offsetDelta, timestampDelta: 10 * offsetDelta }),
    );
    const decoded = await recordsOf(await batchOf(7, encoded, { compression: codec }));
    expect(decoded.map(({ position, timestamp }) => [position, timestamp])).toEqual([
      [7, '1763680000000'],
      [8, '1763680000010'],
      [9, '1763680000020'],
    ]);
    const [before, omitted, behind] = decoded;
    expect([before, behind].map((it) => String(it?.value))).toEqual(['before', 'behind']);
    expect(omitted).toMatchObject({
      value: null,
      unreadable: { rejection: { code: 'too-large' }, omittedBytes: expect.any(Number) as number },
    });
  });

  it('may unpack to fewer bytes the more records it has: half of the records allow 62.5 %', async () => {
    const { maxBytes } = batchUnpacker;
    batchUnpacker.maxBytes = 8_000_000;
    const half = (valueBytes: number): Promise<Buffer> => {
      const record = encodeRecord({ value: 'x'.repeat(valueBytes) });
      return batchOf(0, new Array<Buffer>(50_000).fill(record), PACKED);
    };
    expect(await recordsOf(await half(80))).toHaveLength(50_000);
    const [refused, ...others] = await recordsOf(await half(100));
    batchUnpacker.maxBytes = maxBytes;
    expect(others).toEqual([]);
    const detail = expect.stringContaining('5000000 bytes (gzip)') as string;
    expect(refused).toMatchObject({ unreadable: { rejection: { code: 'too-large', detail } } });
  });

  it('fails as kafkajs expects when the fetch ends within it', async () => {
    const fetch = await encode({ ...few, records });
    for (const decode of [batchByKafkajs, decodeBatch]) {
      await expect(decode(new Decoder(fetch.subarray(0, -1)))).rejects.toMatchObject({
        name: 'KafkaJSPartialMessageError',
      });
    }
  });
});
