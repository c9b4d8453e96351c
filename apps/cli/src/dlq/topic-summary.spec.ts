import { deadLetter, TOPIC } from './testing/dead-letter.js';
import { TopicSummary } from './list-and-show.js';

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
