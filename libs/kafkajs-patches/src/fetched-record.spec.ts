import { createRequire } from 'node:module';
import fc from 'fast-check';
import type { MessageHeaders } from '#libs/contracts';
import {
  type AbortedTransaction,
  type BatchClass,
  type BatchContext,
  committedBatch,
  committedMessages,
  Cursor,
  DecodedRecord,
  type TransactionalMessage,
} from './fetched-record.js';
import { FrameWriter } from './produce-request.js';
import {
  anyCharacter,
  encodeRecord,
  type KafkajsRecord,
  plainRecord,
  recordFields,
  type RecordFields,
} from './testing/records.js';

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

const BatchOfKafkajs = require('kafkajs/src/consumer/batch.js') as BatchClass;
const BatchOfOurs = committedBatch(BatchOfKafkajs);

/** What kafkajs asks a batch, beside whether to hand it on. */
const QUESTIONS = [
  ...['isEmptyIncludingFiltered', 'isEmptyDueToLogCompactedMessages'],
  ...['firstOffset', 'lastOffset', 'offsetLag', 'offsetLagLow'],
];

const gaps = fc.array(
  fc.record({
    gap: fc.integer({ min: 1, max: 3 }),
    isControlRecord: fc.boolean(),
    producerId: fc.constantFrom('1', '2'),
    inTransaction: fc.boolean(),
  }),
  { maxLength: 12 },
);
const messages = gaps.map((entries) => {
  let offset = 0;
  return entries.map(({ gap, isControlRecord, producerId, inTransaction }) => {
    offset += gap;
    const key = isControlRecord ? Buffer.alloc(4) : null;
    const batchContext = { producerId, inTransaction };
    return { offset: String(offset), key, isControlRecord, batchContext };
  });
});
function answersOf(batch: object): unknown[] {
  const asked = batch as Record<string, () => unknown>;
  return QUESTIONS.map((question) => [question, asked[question]?.()]);
}

describe('a batch of messages of one fetch', () => {
  it("equals kafkajs's batch if nothing is aborted", () => {
    expect(BatchOfOurs).not.toBe(BatchOfKafkajs);
    const fetchedOffset = fc.nat({ max: 20 }).map(String);
    fc.assert(
      fc.property(fetchedOffset, messages, fc.constantFrom(null, []), (from, given, none) => {
        const data = { partition: 3, highWatermark: '40', messages: given };
        const fetched = { ...data, abortedTransactions: none };
        const [expected, ours] = [BatchOfKafkajs, BatchOfOurs].map(
          (Batch) => new Batch('a-topic', from, fetched),
        );
        expect({ ...ours }).toEqual({ ...expected });
        expect(answersOf(ours!)).toEqual(answersOf(expected!));
        // of a fetch of which nothing is left as well
        expect([ours!.isEmpty(), ours!.isEmptyDueToFiltering()]).toEqual([
          given.length === 0,
          false,
        ]);
      }),
      { numRuns: 300 },
    );
  });

  it('has the first 25,000 messages, and the next fetch the others', () => {
    const offsets = Array.from({ length: 60_000 }, (_, offset) => String(offset));
    const messages = offsets.map((offset) => ({ offset, key: null, isControlRecord: false }));
    const fetched = { partition: 3, highWatermark: '60000', messages };
    const read: string[] = [];
    for (const size of [25_000, 25_000, 10_000]) {
      const batch = new BatchOfOurs('a-topic', String(read.length), fetched);
      expect(batch.messages).toHaveLength(size);
      read.push(...batch.messages.map(({ offset }) => offset));
      expect(answersOf(batch)).toContainEqual(['lastOffset', read.at(-1)]);
    }
    expect(read).toEqual(offsets);
  });
});

interface Logged extends TransactionalMessage {
  position: number;
  isControlRecord: boolean;
}

interface Finished extends AbortedTransaction {
  lastOffset: number;
}

/** A partition's log, by what a broker does with it. */
class Log {
  readonly records: Logged[] = [];
  /** In the order of the ends, as a broker's index is. */
  readonly aborted: Finished[] = [];
  readonly committed = new Set<number>();
  private readonly open = new Map<string, number[]>();

  send(producerId: string, key: Buffer | null): void {
    const offsets = this.open.get(producerId) ?? [];
    this.open.set(producerId, [...offsets, this.append(producerId, key)]);
  }

  /** Of a producer without transactions. */
  sendPlainly(key: Buffer | null): void {
    this.committed.add(this.append('-1', key));
  }

  end(producerId: string, how: 'abort' | 'commit'): void {
    const [first, ...others] = this.open.get(producerId) ?? [];
    if (first === undefined) return;
    const key = Buffer.from([0, 0, 0, how === 'abort' ? 0 : 1]);
    const lastOffset = this.append(producerId, key, true);
    if (how === 'abort') this.aborted.push({ producerId, firstOffset: String(first), lastOffset });
    else for (const offset of [first, ...others]) this.committed.add(offset);
    this.open.delete(producerId);
  }

  /** What a fetch may come up to: before any transaction that is open. */
  get stableEnd(): number {
    return Math.min(this.records.length, ...[...this.open.values()].flat());
  }

  /** The offsets of those in the span that were committed. */
  readable(from: number, until: number): number[] {
    return [...this.committed].filter((it) => it >= from && it < until).sort((a, b) => a - b);
  }

  private append(producerId: string, key: Buffer | null, isControlRecord = false): number {
    const position = this.records.length;
    const batchContext = { producerId, inTransaction: producerId !== '-1' };
    this.records.push({ offset: String(position), position, key, isControlRecord, batchContext });
    return position;
  }
}

/** Among them those of markers, such as a Java client's integer 0. */
const keys = fc.constantFrom(null, Buffer.alloc(4), Buffer.from([0, 0, 0, 1]), Buffer.from('key'));
const step = fc.record({
  what: fc.constantFrom('send', 'send', 'send', 'plain', 'abort', 'abort', 'commit'),
  producerId: fc.constantFrom('1', '2', '3'),
  key: keys,
});
const logs = fc.array(step, { maxLength: 40 }).map((steps) => {
  const log = new Log();
  for (const { what, producerId, key } of steps) {
    if (what === 'send') log.send(producerId, key);
    else if (what === 'plain') log.sendPlainly(key);
    else log.end(producerId, what);
  }
  return log;
});

const messagesOf = (fetched: readonly Logged[], aborted: readonly AbortedTransaction[]): number[] =>
  committedMessages(fetched, aborted)
    .filter(({ isControlRecord }) => !isControlRecord)
    .map(({ position }) => position);

describe('the committed messages of a fetch', () => {
  it('are those committed in the log, wherever the fetch begins and ends', () => {
    fc.assert(
      fc.property(logs, fc.nat({ max: 40 }), fc.nat({ max: 40 }), (log, from, length) => {
        const until = Math.min(log.stableEnd, from + length);
        const fetched = log.records.slice(from, until);
        const aborted = log.aborted.filter(({ lastOffset, firstOffset }) => {
          return lastOffset >= from && Number(firstOffset) < until;
        });
        expect(messagesOf(fetched, aborted)).toEqual(log.readable(from, until));
      }),
      { numRuns: 2000 },
    );
  });

  it('are not changed by other control records', () => {
    const log = new Log();
    for (const key of [null, null, null]) log.send('1', key);
    log.end('1', 'abort');
    const [first, second, ...others] = log.records;
    const endOfBatch = { ...second!, isControlRecord: true };
    expect(messagesOf([first!, endOfBatch, ...others], log.aborted)).toEqual([]);
    const key = Buffer.from([0, 0, 0, 2]);
    expect(messagesOf([first!, { ...endOfBatch, key }, ...others], log.aborted)).toEqual([]);
  });

  it('include all messages of the old formats', () => {
    const old = { offset: '3' };
    expect(committedMessages([old], [{ producerId: '1', firstOffset: '0' }])).toEqual([old]);
  });
});
