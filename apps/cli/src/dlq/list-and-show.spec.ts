import fc from 'fast-check';
import { Newest, TopicSummary } from './list-and-show.js';
import { deadLetter, FAILED_AT, TOPIC } from './testing/dead-letter.js';
import { isSelected, needsContent, newestSpans, offsetCount, selectedSpans } from './selection.js';

describe('TopicSummary', () => {
  it('counts by code and by replay, with the oldest and newest time', () => {
    const summary = new TopicSummary(TOPIC);
    expect(summary.textLines()).toEqual([`${TOPIC}: no dead letters`]);
    summary.countDeadLetter(
      deadLetter({ headers: { 'dlq-failed-at': '1763680000', 'dlq-code': 'too-large' } }),
    );
    summary.countDeadLetter(deadLetter({ replayedAt: 1_763_690_000 }));
    summary.countDeadLetter(deadLetter());
    summary.countDeadLetter(deadLetter({ headers: { 'dlq-code': '\u001b' } }));
    expect(summary.textLines()).toEqual([
      `${TOPIC}: 4 dead letters, 1 replayed, the oldest of 2025-11-20T23:06:40Z, ` +
        'the newest of 2025-11-20T23:07:40Z',
      '         2  unknown-reason',
      '         1  too-large',
      '         1  other',
    ]);
    expect(JSON.parse(summary.jsonLine())).toEqual({
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
  it('keeps the dead letters that failed last, the newest at the end, in any order of reading', () => {
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

  it('sorts dead letters of the same time by position', () => {
    const newest = new Newest<string>(2);
    for (const offset of [7, 9, 8]) newest.offer(failing(1, offset), String(offset));
    expect(newest.inOrder()).toEqual(['8', '9']);
  });
});

const span = (partition: number, from: number, until: number) => ({
  topic: TOPIC,
  partition,
  from,
  until,
});

describe('isSelected', () => {
  const one = deadLetter({ partition: 2, offset: 17 });

  it.each([
    ['code', { code: 'unknown-reason' as const }, { code: 'invalid-json' as const }],
    ['machine', { machine: 'M-1' }, { machine: 'M-2' }],
    ['partition', { partition: 2 }, { partition: 0 }],
    ['offset', { offset: 17 }, { offset: 0 }],
    ['begin of a time', { since: FAILED_AT }, { since: FAILED_AT + 1 }],
    ['end of a time, which is not part of it', { until: FAILED_AT + 1 }, { until: FAILED_AT }],
  ])('selects by %s', (_, selecting, other) => {
    expect(isSelected(one, selecting)).toBe(true);
    expect(isSelected(one, other)).toBe(false);
  });

  it('requires all criteria', () => {
    expect(isSelected(one, { code: 'unknown-reason', machine: 'M-1', offset: 17 })).toBe(true);
    expect(isSelected(one, { code: 'unknown-reason', machine: 'M-2', offset: 17 })).toBe(false);
  });

  it('selects a dead letter of several machines for each of them', () => {
    const several = deadLetter({ headers: { 'dlq-machine-ids': 'M-7,M-8' } });
    expect(isSelected(several, { machine: 'M-8' })).toBe(true);
    expect(isSelected(several, { machine: 'M-1' })).toBe(false);
  });
});

describe('the spans to read', () => {
  const spans = [span(0, 5, 100), span(1, 0, 3)];

  it('are those of the selected partition or offset', () => {
    expect(selectedSpans(spans, {})).toEqual(spans);
    expect(selectedSpans(spans, { partition: 1 })).toEqual([span(1, 0, 3)]);
    expect(selectedSpans(spans, { partition: 0, offset: 17 })).toEqual([span(0, 17, 18)]);
  });

  it('are empty for an offset outside', () => {
    expect(offsetCount(selectedSpans(spans, { offset: 2 }))).toBe(1);
    expect(offsetCount(selectedSpans(spans, { offset: 100 }))).toBe(0);
  });

  it('are the ends of all partitions for the newest dead letters', () => {
    expect(newestSpans(spans, 10)).toEqual([span(0, 90, 100), span(1, 0, 3)]);
    expect(offsetCount(newestSpans(spans, 10))).toBe(13);
  });

  it('suffice, unless a criterion needs the content of dead letters', () => {
    expect(needsContent({ partition: 1, offset: 2 })).toBe(false);
    expect(needsContent({ since: 0 })).toBe(true);
  });
});
