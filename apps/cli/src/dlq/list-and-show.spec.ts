import fc from 'fast-check';
import { Newest, TopicSummary } from './list-and-show.js';
import { deadLetter, TOPIC } from './testing/dead-letter.js';

describe('TopicSummary', () => {
  it('counts by code and by what was replayed, and gives the span of time', () => {
    const summary = new TopicSummary(TOPIC);
    expect(summary.lines()).toEqual([`${TOPIC}: no dead letters`]);
    summary.add(
      deadLetter({ headers: { 'dlq-failed-at': '1763680000', 'dlq-code': 'too-large' } }),
    );
    summary.add(deadLetter({ replayedAt: 1_763_690_000 }));
    summary.add(deadLetter());
    summary.add(deadLetter({ headers: { 'dlq-code': '\u001b' } }));
    expect(summary.lines()).toEqual([
      `${TOPIC}: 4 dead letters, 1 replayed, the oldest of 2025-11-20T23:06:40Z, ` +
        'the newest of 2025-11-20T23:07:40Z',
      '         2  unknown-reason',
      '         1  too-large',
      '         1  other',
    ]);
    expect(JSON.parse(summary.json())).toEqual({
      topic: TOPIC,
      count: 4,
      replayed: 1,
      byCode: { 'unknown-reason': 2, 'too-large': 1, other: 1 },
      oldest: 1_763_680_000,
      newest: 1_763_680_060,
    });
  });
});

const failing = (failedAt: number, offset: number) =>
  deadLetter({ offset, headers: { 'dlq-failed-at': String(failedAt) } });

describe('Newest', () => {
  it('keeps what failed last, the newest at the end, in whatever order it comes', () => {
    const times = fc.array(fc.nat({ max: 20 }), { maxLength: 60 });
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 10 }), (all, limit) => {
        const newest = new Newest<number>(limit);
        for (const [offset, failedAt] of all.entries()) {
          newest.offer(failing(failedAt, offset), failedAt);
        }
        expect(newest.offered).toBe(all.length);
        expect(newest.inOrder()).toEqual([...all].sort((a, b) => a - b).slice(-limit));
      }),
    );
  });

  it('goes by the place where dead letters failed at the same time', () => {
    const newest = new Newest<string>(2);
    for (const offset of [7, 9, 8]) newest.offer(failing(1, offset), String(offset));
    expect(newest.inOrder()).toEqual(['8', '9']);
  });
});
