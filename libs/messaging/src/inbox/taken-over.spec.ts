import { realEpochMs } from '#libs/clock';
import { FinishedAhead } from '#libs/delivery';
import { AT_REST } from './commit-note.js';
import { takenOver } from './taken-over.js';

describe('a partition that was taken over', () => {
  const finished = FinishedAhead.read(5, FinishedAhead.compose([5, 7], 8).metadata);
  const commit = { offset: 5, start: 0, end: 10, finished, toldUntil: 1000 };

  it('is finished up to its commit, and where the commit says so', () => {
    const { isFinished } = takenOver('lists', 0, commit);
    expect([4, 5, 6, 7, 8, 9].filter((offset) => isFinished(offset))).toEqual([4, 6, 8]);
  });

  it.each([
    ['from its commit', 5, 0, 5],
    ['from the oldest message that is left', 5, 7, 7],
    ['from the oldest without a commit', -1, 3, 3],
  ])('is fetched %s', (_, offset, start, begin) => {
    expect(takenOver('lists', 0, { ...commit, offset, start }).begin).toBe(begin);
  });

  it('may have been told of since its commit', () => {
    expect(takenOver('lists', 0, commit).toldUntilMs).toBe(1000);
  });

  it.each([AT_REST, undefined] as const)(
    'was not told of since a commit that says %s',
    (toldUntil) => {
      expect(takenOver('lists', 0, { ...commit, toldUntil }).toldUntilMs).toBeUndefined();
    },
  );

  it.each([5, -1])('holds nothing that could come again when offset %d is its end', (offset) => {
    const end = Math.max(offset, 0);
    expect(takenOver('lists', 0, { ...commit, offset, end }).toldUntilMs).toBeUndefined();
  });

  it('may have been told of lately when nothing was committed yet', () => {
    const { toldUntilMs, isFinished } = takenOver('lists', 0, {
      ...{ offset: -1, start: 0, end: 1, finished: undefined, toldUntil: undefined },
    });
    expect(realEpochMs() - (toldUntilMs ?? 0)).toBeGreaterThanOrEqual(600_000);
    expect(isFinished(0)).toBe(false);
  });
});
