import { createRequire } from 'node:module';
import fc from 'fast-check';
import { type BatchClass, leanBatch } from './lean-batch.js';

const require = createRequire(import.meta.url);
const BatchOfKafkajs = require('kafkajs/src/consumer/batch.js') as BatchClass;
const BatchOfOurs = leanBatch(BatchOfKafkajs);

/** What kafkajs asks a batch. */
const QUESTIONS = [
  ...['isEmpty', 'isEmptyIncludingFiltered', 'isEmptyDueToFiltering', 'isEmptyControlRecord'],
  ...['isEmptyDueToLogCompactedMessages', 'firstOffset', 'lastOffset', 'offsetLag', 'offsetLagLow'],
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

describe('a batch of messages out of one fetch', () => {
  it('has what kafkajs puts there, and answers in the same way, where nothing is aborted', () => {
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
      }),
      { numRuns: 300 },
    );
  });

  it('is without what was aborted, also where such transactions overlap', () => {
    const sent = (offset: number, producerId: string) => {
      const batchContext = { producerId, inTransaction: true };
      return { offset: String(offset), key: null, isControlRecord: false, batchContext };
    };
    const aborting = (offset: number, producerId: string) => {
      return { ...sent(offset, producerId), key: Buffer.alloc(4), isControlRecord: true };
    };
    const messages = [
      ...[sent(0, '1'), sent(1, '2'), sent(2, '3')],
      ...[aborting(3, '2'), sent(4, '1'), aborting(5, '1')],
    ];
    const abortedTransactions = [
      { producerId: '2', firstOffset: '1' },
      { producerId: '1', firstOffset: '0' },
    ];
    const fetched = { partition: 3, highWatermark: '6', messages, abortedTransactions };
    const batch = new BatchOfOurs('a-topic', '0', fetched);
    expect(batch.messages.map(({ offset }) => offset)).toEqual(['2']);
    expect(batch.messagesWithinOffset).toHaveLength(6);
  });
});
