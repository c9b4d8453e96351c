import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { realNowMs } from '#libs/clock';
import { type PartitionerArgs, Partitioners } from '#libs/kafkajs-patches';
import {
  batchesOf,
  byteLength,
  type OutboundRecord,
  partitionByKey,
  partitionOf,
  toProducerBatch,
} from './outbound-record.js';

describe('batchesOf', () => {
  it('hold all records in order, are as full as possible, and have a too large one alone', () => {
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

describe('toProducerBatch', () => {
  it('groups the records of each topic in order, unchanged', () => {
    const records = ['a 1', 'b 1', 'a 2', 'b 2', 'a 3'].map((value, partition) => ({
      ...{ topic: value.charAt(0), key: Buffer.from([0xff]), partition },
      ...{ value: value === 'b 2' ? null : value, headers: { name: 'of a header' } },
    }));
    const [a1, b1, a2, b2, a3] = records;
    expect(toProducerBatch(records, false).topicMessages).toMatchObject([
      { topic: 'a', messages: [a1, a2, a3] },
      { topic: 'b', messages: [b1, b2] },
    ]);
    expect(toProducerBatch([], false).topicMessages).toEqual([]);
  });
});

describe('partitionOf', () => {
  // Utils.toPositive(Utils.murmur2(key)) % partitions, of kafka-clients 4.1.1, for 6, 12 and 50 partitions
  it.each([
    ['M-1', 0, 6, 24],
    ['M-2', 1, 7, 17],
    ['M-3', 4, 10, 30],
    ['M-4711', 1, 1, 47],
    ['FR01', 1, 1, 17],
    ['1895938', 2, 8, 40],
    ['Anlage Süd 3', 0, 0, 48],
    ['機械-7', 0, 6, 12],
    ['a', 4, 4, 24],
    ['', 3, 9, 31],
    ['0123456789abcdef0', 0, 6, 38],
  ])('puts %j where the Java client puts it', (key, of6, of12, of50) => {
    expect([6, 12, 50].map((partitions) => partitionOf(key, partitions))).toEqual([
      of6,
      of12,
      of50,
    ]);
  });
});

describe('partitionByKey', () => {
  const choiceOf = (message: PartitionerArgs['message'], partitions: number): PartitionerArgs => ({
    topic: 'a-topic',
    partitionMetadata: Array.from({ length: partitions }, (_, partitionId) => ({
      ...{ partitionId, partitionErrorCode: 0, leader: 0, replicas: [], isr: [] },
    })),
    message,
  });
  const byDefault = Partitioners.DefaultPartitioner();
  const byKey = partitionByKey();

  it('assigns any key the partition that the client would choose', () => {
    const keys = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.string(),
    );
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 100 }), (key, partitions) => {
        const choice = choiceOf({ key, value: null }, partitions);
        expect(byKey(choice)).toBe(byDefault(choice));
      }),
    );
  });

  it('assigns a record the partition of its partition key, if it has one', () => {
    const message = { key: 'M-1/0/7', partitionKey: 'M-1', value: null };
    expect(byKey(choiceOf(message, 50))).toBe(partitionOf('M-1', 50));
    expect(byKey(choiceOf(message, 50))).not.toBe(partitionOf('M-1/0/7', 50));
  });

  it('keeps an explicit partition, and chooses any for a record without a key', () => {
    expect(byKey(choiceOf({ key: 'M-1', value: null, partition: 5 }, 6))).toBe(5);
    const byTurns = [1, 2, 3].map(() => byKey(choiceOf({ key: null, value: null }, 3)));
    expect(byTurns.sort()).toEqual([0, 1, 2]);
  });

  it('does not block the process for a key as large as a message may be', () => {
    const key = randomBytes(1024 * 1024);
    const startedMs = realNowMs();
    byKey(choiceOf({ key, value: null }, 6));
    // some milliseconds; minutes with the client's own hash
    expect(realNowMs() - startedMs).toBeLessThan(20_000);
  });
});
