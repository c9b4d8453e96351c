import { partitionOf } from './partition-of.js';

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
