import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { type OwnedState, PartitionOwnership } from '#libs/messaging';
import { ListFences } from './list-fences.js';

const NOW_SECONDS = 1000;
const MAX_SKEW_SECONDS = 300;

const fencesAt = (nowSeconds: number): ListFences =>
  new ListFences(
    { erp: { commandMaxSkewSeconds: MAX_SKEW_SECONDS } },
    new ManualClock(nowSeconds * 1000),
  );

/** State that Kafka takes every write of at once. */
function ownedState(partition: number, fences: [string, number][]): OwnedState<number> {
  const values = new Map(fences);
  return {
    partition,
    signal: new AbortController().signal,
    lost: new AbortController().signal,
    get: (key) => values.get(key),
    keys: () => values.keys(),
    entries: () => values.entries(),
    commit: (changes) => {
      for (const [key, value] of changes) if (value !== null) values.set(key, value);
      return Promise.resolve();
    },
  };
}

describe('ListFences', () => {
  it('goes by the highest fence of a machine, whatever partition its lists came through', async () => {
    const fences = fencesAt(NOW_SECONDS);
    const states = [ownedState(0, [['M-1', 10]]), ownedState(1, [['M-2', 20]])];
    for (const state of states) fences.own(state);
    const ownership = new PartitionOwnership();
    await fences.raise({ partition: 1, ownership }, 'M-1', 30);
    expect(fences.issuedAt('M-1')).toBe(30);
    expect(fences.issuedAt('M-2')).toBe(20);
    await fences.raise({ partition: 0, ownership }, 'M-2', 15);
    expect(fences.issuedAt('M-2')).toBe(20);
    expect(states.map((state) => state.get('M-1'))).toEqual([10, 30]);
  });

  it('knows no fence of a partition it has never had', () => {
    expect(fencesAt(NOW_SECONDS).issuedAt('M-1')).toBeUndefined();
  });

  it('forgets those of a partition that is lost: its new owner has them', async () => {
    const fences = fencesAt(NOW_SECONDS);
    const losing = new AbortController();
    fences.own({ ...ownedState(0, [['M-1', 10]]), lost: losing.signal });
    losing.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(fences.issuedAt('M-1')).toBeUndefined();
  });

  it('raises a fence before its partition is restored, and writes it then', async () => {
    const fences = fencesAt(NOW_SECONDS);
    const raised = fences.raise({ partition: 0, ownership: new PartitionOwnership() }, 'M-1', 10);
    expect(fences.issuedAt('M-1')).toBe(10);
    const state = ownedState(0, []);
    fences.own(state);
    await raised;
    expect(state.get('M-1')).toBe(10);
  });

  it('ignores a fence that no clock can have shown yet, says so, and lowers it', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const fences = fencesAt(NOW_SECONDS);
    const latest = NOW_SECONDS + MAX_SKEW_SECONDS;
    const state = ownedState(3, [
      ['M-1', latest + 1],
      ['M-2', latest],
    ]);
    fences.own(state);
    expect(warn.mock.calls).toMatchObject([[{ partition: 3, count: 1, machineIds: ['M-1'] }]]);
    expect(fences.issuedAt('M-1')).toBeUndefined();
    expect(fences.issuedAt('M-2')).toBe(latest);
    await fences.raise({ partition: 3, ownership: new PartitionOwnership() }, 'M-1', 900);
    expect(fences.issuedAt('M-1')).toBe(900);
    expect(state.get('M-1')).toBe(900);
    warn.mockRestore();
  });
});
