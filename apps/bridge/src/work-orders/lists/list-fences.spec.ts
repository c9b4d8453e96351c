import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS } from '#libs/contracts';
import type { KafkaClient, OwnedState } from '#libs/kafka';
import { ownedState } from '../testing/owned-state.js';
import { ListFences } from './list-fences.js';

const NOW_SECONDS = 1000;
const MAX_SKEW_SECONDS = 300;

const settings = {
  kafka: { topicPrefix: '', groupId: 'a-group' },
  erp: { commandMaxSkewSeconds: MAX_SKEW_SECONDS },
} as BridgeSettings;

const fencesAt = (nowSeconds: number): ListFences =>
  new ListFences(settings, {} as KafkaClient, new ManualClock(nowSeconds * 1000));

/** A partition that was restored with these. */
const restored = (
  partition: number,
  fences: [string, number][],
  lost?: AbortSignal,
): OwnedState<number> =>
  ownedState(new Map(fences), {
    partition,
    name: INTERNAL_TOPICS.workOrderListFences,
    ...(lost && { lost }),
  });

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
    expect(fences.raise(0, 'M-1', 10)).toEqual([]);
    expect(fences.issuedAt('M-1')).toBe(20);
  });

  it('is written to the partition that the list came through', () => {
    const fences = fencesAt(NOW_SECONDS);
    fences.own(restored(4, []));
    const record = {
      topic: INTERNAL_TOPICS.workOrderListFences,
      partition: 4,
      key: 'M-1',
      value: '30',
    };
    expect(fences.raise(4, 'M-1', 30)).toMatchObject([record]);
    expect(fences.raise(4, 'M-1', 30)).toMatchObject([record]);
    expect(fences.raise(5, 'M-1', 40)).toEqual([]);
  });

  it('knows no fence of a partition it has never had', () => {
    expect(fencesAt(NOW_SECONDS).issuedAt('M-1')).toBeUndefined();
  });

  it('forgets those of a partition that is lost: its new owner has them', () => {
    const fences = fencesAt(NOW_SECONDS);
    const losing = new AbortController();
    fences.own(restored(0, [['M-1', 10]], losing.signal));
    losing.abort();
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
    expect(fences.raise(3, 'M-1', 900)).toMatchObject([{ key: 'M-1', value: '900' }]);
    expect(fences.issuedAt('M-1')).toBe(900);
    warn.mockRestore();
  });
});
