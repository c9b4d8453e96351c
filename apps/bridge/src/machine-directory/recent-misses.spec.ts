import { jest } from '@jest/globals';
import { RecentMisses } from './recent-misses.js';

describe('RecentMisses', () => {
  let nowMs: number;
  let misses: RecentMisses;

  beforeEach(() => {
    nowMs = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    misses = new RecentMisses(2);
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('knows nothing of a name not looked up', () => {
    misses.missed('M-1');
    expect(misses.answerTo('M-2')).toBeUndefined();
  });

  it('holds a name for unknown until it may be looked up again', () => {
    misses.missed('M-1');
    nowMs += 1999;
    expect(misses.answerTo('M-1')).toBe('unknown');
    nowMs += 1;
    expect(misses.answerTo('M-1')).toBeUndefined();
  });

  it('forgets a name that has been found, and no other', () => {
    misses.missed('M-1');
    misses.missed('M-2');
    misses.found(new Set(['M-1']));
    expect([misses.answerTo('M-1'), misses.answerTo('M-2')]).toEqual([undefined, 'unknown']);
  });

  it('holds them for unknown from the latest look-up on, whatever that was made for', () => {
    misses.missed('M-1');
    nowMs += 1500;
    misses.found(new Set(['M-2']));
    nowMs += 1999;
    expect(misses.answerTo('M-1')).toBe('unknown');
    nowMs += 1;
    expect(misses.answerTo('M-1')).toBeUndefined();
  });

  it('remembers as many names as it may, the latest', () => {
    for (const name of ['M-1', 'M-2', 'M-1', 'M-3']) misses.missed(name);
    const answers = ['M-1', 'M-2', 'M-3'].map((name) => misses.answerTo(name));
    expect(answers).toEqual(['unknown', undefined, 'unknown']);
  });

  it.each([
    ['left it to the service', 'unverifiable', 10_000],
    [
      'could not be made',
      { kind: 'unavailable', why: 'getMachineInfo: HTTP 503', afterMs: null },
      1000,
    ],
  ] as const)('can verify no name for a while after a look-up that %s', (_, failure, ms) => {
    misses.failed(failure);
    nowMs += ms - 1;
    expect(misses.answerTo('M-1')).toBe(failure);
    nowMs += 1;
    expect(misses.answerTo('M-1')).toBeUndefined();
  });

  it('can verify again as soon as a look-up succeeds', () => {
    misses.failed('unverifiable');
    misses.found(new Set());
    expect(misses.answerTo('M-1')).toBeUndefined();
  });
});
