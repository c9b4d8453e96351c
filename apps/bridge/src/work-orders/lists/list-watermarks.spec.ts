import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS } from '#libs/contracts';
import type { InputState, KafkaClient, TransactedState } from '#libs/kafka';
import { ownedState } from '../testing/owned-state.js';
import { ListWatermarks } from './list-watermarks.js';

const NOW_SECONDS = 1000;
const MAX_SKEW_SECONDS = 300;

const settings = {
  kafka: { topicPrefix: '', groupId: 'a-group' },
  erp: { commandMaxSkewSeconds: MAX_SKEW_SECONDS },
} as BridgeSettings;

const watermarksAt = (nowSeconds: number): ListWatermarks =>
  new ListWatermarks(settings, {} as KafkaClient, new ManualClock(nowSeconds * 1000));

/** A partition that was restored with these. */
const restored = (
  partition: number,
  watermarks: [string, number][],
  lost?: AbortSignal,
): InputState<number> & TransactedState<number> =>
  ownedState(new Map(watermarks), {
    partition,
    name: INTERNAL_TOPICS.workOrderListFences,
    ...(lost && { lost }),
  });

describe('ListWatermarks', () => {
  it('goes by the highest watermark of a machine, whatever partition its lists came through', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    watermarks.topic.own(restored(0, [['M-1', 10]]));
    watermarks.topic.own(restored(1, [['M-2', 20]]));
    watermarks.raise(1, 'M-1', 30);
    expect(watermarks.issuedAt('M-1')).toBe(30);
    expect(watermarks.issuedAt('M-2')).toBe(20);
    watermarks.raise(0, 'M-2', 15);
    expect(watermarks.issuedAt('M-2')).toBe(20);
  });

  it('is never lowered', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    watermarks.topic.own(restored(0, [['M-1', 20]]));
    expect(watermarks.raise(0, 'M-1', 10)).toEqual([]);
    expect(watermarks.issuedAt('M-1')).toBe(20);
  });

  it('is written to the partition that the list came through', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    watermarks.topic.own(restored(4, []));
    const record = {
      topic: INTERNAL_TOPICS.workOrderListFences,
      partition: 4,
      key: 'M-1',
      value: '30',
    };
    expect(watermarks.raise(4, 'M-1', 30)).toMatchObject([record]);
    expect(watermarks.raise(4, 'M-1', 30)).toMatchObject([record]);
    expect(watermarks.raise(5, 'M-1', 40)).toEqual([]);
  });

  it('knows no watermark of a partition it has never had', () => {
    expect(watermarksAt(NOW_SECONDS).issuedAt('M-1')).toBeUndefined();
  });

  it('forgets those of a partition that is lost: its new owner has them', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    const losing = new AbortController();
    watermarks.topic.own(restored(0, [['M-1', 10]], losing.signal));
    losing.abort();
    expect(watermarks.issuedAt('M-1')).toBeUndefined();
  });

  it('goes by what another process has raised meanwhile', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    watermarks.topic.own(restored(0, []));
    watermarks.raise(0, 'M-1', 10);
    watermarks.raise(0, 'M-2', 20);
    watermarks.topic.own(restored(0, [['M-1', 30]]));
    expect(watermarks.issuedAt('M-1')).toBe(30);
    expect(watermarks.issuedAt('M-2')).toBeUndefined();
  });

  it('ignores a watermark that no clock can have shown yet, says so, and lowers it', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const watermarks = watermarksAt(NOW_SECONDS);
    const latest = NOW_SECONDS + MAX_SKEW_SECONDS;
    watermarks.topic.own(
      restored(3, [
        ['M-1', latest + 1],
        ['M-2', latest],
      ]),
    );
    expect(warn.mock.calls).toMatchObject([[{ partition: 3, count: 1, machineIds: ['M-1'] }]]);
    expect(watermarks.issuedAt('M-1')).toBeUndefined();
    expect(watermarks.issuedAt('M-2')).toBe(latest);
    expect(watermarks.raise(3, 'M-1', 900)).toMatchObject([{ key: 'M-1', value: '900' }]);
    expect(watermarks.issuedAt('M-1')).toBe(900);
    warn.mockRestore();
  });
});
