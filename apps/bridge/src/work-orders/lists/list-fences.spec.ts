import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { type OwnedState } from '#libs/messaging';
import { type CommandResult } from '../../command-delivery/index.js';
import { ListFences } from './list-fences.js';

const NOW_SECONDS = 1000;
const MAX_SKEW_SECONDS = 300;

const fencesAt = (nowSeconds: number): ListFences =>
  new ListFences(
    { kafka: { topicPrefix: 'a.' }, erp: { commandMaxSkewSeconds: MAX_SKEW_SECONDS } },
    new ManualClock(nowSeconds * 1000),
  );

/** A partition that was restored with these. */
function restored(
  partition: number,
  fences: [string, number][],
  lost = new AbortController().signal,
): OwnedState<number> {
  const values = new Map(fences);
  return {
    ...{ partition, signal: lost, lost },
    get: (key) => values.get(key),
    keys: () => values.keys(),
    entries: () => values.entries(),
    commit: () => Promise.reject(new Error('not for fences')),
  };
}

const applied = (machineId: string, issuedAt?: number): CommandResult => {
  return { kind: 'applied', machineId, attempts: 1, appliedAt: NOW_SECONDS, issuedAt };
};

describe('ListFences', () => {
  it('goes by the highest fence of a machine, whatever partition its lists came through', () => {
    const fences = fencesAt(NOW_SECONDS);
    fences.own(restored(0, [['M-1', 10]]));
    fences.own(restored(1, [['M-2', 20]]));
    fences.raise(1, 'M-1', 30);
    expect(fences.issuedAt('M-1')).toBe(30);
    expect(fences.issuedAt('M-2')).toBe(20);
    fences.raise(0, 'M-2', 15);
    expect(fences.issuedAt('M-2')).toBe(20);
  });

  it('is never lowered', () => {
    const fences = fencesAt(NOW_SECONDS);
    fences.own(restored(0, [['M-1', 20]]));
    fences.raise(0, 'M-1', 10);
    expect(fences.issuedAt('M-1')).toBe(20);
    expect(fences.recordOf(0, applied('M-1', 10))).toBeUndefined();
  });

  it('is written to the partition that the list came through', () => {
    const fences = fencesAt(NOW_SECONDS);
    fences.own(restored(4, []));
    fences.raise(4, 'M-1', 30);
    const topic = 'a.machine-bridge.work-order-list-fences.v1';
    const record = { topic, partition: 4, key: 'M-1', value: '30', headers: {} };
    expect(fences.recordOf(4, applied('M-1', 30))).toEqual(record);
  });

  it('is not there for a list that does not say when it was issued, or was not applied', () => {
    const fences = fencesAt(NOW_SECONDS);
    const superseded = { kind: 'superseded', machineId: 'M-1', attempts: 0, detail: '' } as const;
    expect(fences.recordOf(0, applied('M-1'))).toBeUndefined();
    expect(fences.recordOf(0, superseded)).toBeUndefined();
  });

  it('knows no fence of a partition it has never had', () => {
    expect(fencesAt(NOW_SECONDS).issuedAt('M-1')).toBeUndefined();
  });

  it('forgets those of a partition that is lost: its new owner has them', async () => {
    const fences = fencesAt(NOW_SECONDS);
    const losing = new AbortController();
    fences.own(restored(0, [['M-1', 10]], losing.signal));
    losing.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(fences.issuedAt('M-1')).toBeUndefined();
  });

  it('goes by what another process has raised meanwhile', () => {
    const fences = fencesAt(NOW_SECONDS);
    fences.own(restored(0, []));
    fences.raise(0, 'M-1', 10);
    fences.raise(0, 'M-2', 20);
    fences.own(restored(0, [['M-1', 30]]));
    expect(fences.issuedAt('M-1')).toBe(30);
    expect(fences.issuedAt('M-2')).toBeUndefined();
  });

  it('ignores a fence that no clock can have shown yet, says so, and lowers it', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const fences = fencesAt(NOW_SECONDS);
    const latest = NOW_SECONDS + MAX_SKEW_SECONDS;
    fences.own(
      restored(3, [
        ['M-1', latest + 1],
        ['M-2', latest],
      ]),
    );
    expect(warn.mock.calls).toMatchObject([[{ partition: 3, count: 1, machineIds: ['M-1'] }]]);
    expect(fences.issuedAt('M-1')).toBeUndefined();
    expect(fences.issuedAt('M-2')).toBe(latest);
    fences.raise(3, 'M-1', 900);
    expect(fences.issuedAt('M-1')).toBe(900);
    expect(fences.recordOf(3, applied('M-1', 900))).toMatchObject({ key: 'M-1', value: '900' });
    warn.mockRestore();
  });
});
