import { CommitInterval } from './partition-transactions.js';

describe('CommitInterval', () => {
  const begin = (pace: CommitInterval, partitions: object[], nowMs: number): void => {
    for (const partition of partitions) pace.transactionBegins(partition, nowMs);
  };
  const some = (count: number): object[] => Array.from({ length: count }, () => ({}));

  it('is the configured one while few partitions are busy, however often they commit', () => {
    const pace = new CommitInterval(100);
    const few = some(12);
    for (let nowMs = 0; nowMs < 3000; nowMs += 100) begin(pace, few, nowMs);
    expect(pace.intervalMs).toBe(100);
  });

  it('grows with the number of busy partitions, up to two and a half times', () => {
    const pace = new CommitInterval(100);
    begin(pace, some(24), 0);
    expect(pace.intervalMs).toBe(200);
    begin(pace, some(100), 0);
    expect(pace.intervalMs).toBe(250);
  });

  it('does not count partitions that have not committed for a second', () => {
    const pace = new CommitInterval(100);
    begin(pace, some(60), 0);
    begin(pace, some(1), 1001);
    expect(pace.intervalMs).toBe(100);
  });
});
