import { type MessageHeaders } from '#libs/contracts';
import { letterInFull } from './letter-in-full.js';
import { letterJson, letterLine, machinesText, timeText } from './letter-line.js';
import { Overview } from './overview.js';
import { letter, TOPIC } from './testing/letter.js';

const hostile = letter({
  key: Buffer.from('M-\u001b[2J'),
  value: '\u009b',
  headers: { 'dlq-code': '\u001b', 'dlq-detail': 'a\nb', 'x-\u001b': '\u0007' },
});

describe('letterLine', () => {
  it('says where, when, why, about which machine, and whether it was replayed', () => {
    expect(letterLine(letter({ partition: 2, offset: 17 })).split(/ {2,}/)).toEqual([
      '2/17',
      '2025-11-20T23:07:40Z',
      'unknown-reason',
      'M-1',
      'M-1 has no reason coffee',
    ]);
    expect(letterLine(letter({ replayedAt: 1_763_690_000 }))).toMatch(
      /coffee \[replayed 2025-11-21T01:53:20Z\]$/,
    );
  });

  it('lets nothing steer the terminal', () => {
    expect(letterLine(hostile)).toMatch(/^[ -~]*$/);
    expect(letterJson(hostile)).toMatch(/^[ -~]*$/);
    expect(letterInFull(hostile).join('')).toMatch(/^[ -~]*$/);
  });

  it('keeps to a line where the key that stands for a machine is as long as a message', () => {
    const line = letterLine(letter({ key: Buffer.alloc(5000, 'k'), value: 'none' }));
    expect(line).toContain(`${'k'.repeat(100)}... `);
    expect(line.length).toBeLessThan(300);
  });

  it('names the first of many machines', () => {
    expect(machinesText(['M-1', 'M-2', 'M-3'])).toBe('M-1, M-2, M-3');
    expect(machinesText(['M-1', 'M-2', 'M-3', 'M-4', 'M-5'])).toBe('M-1, M-2, M-3 and 2 more');
  });

  it('survives a time that is none', () => {
    expect(timeText(999_999_999_999_999)).toBe('999999999999999');
  });
});

describe('letterJson', () => {
  it('says the same to a program', () => {
    expect(JSON.parse(letterJson(letter({ partition: 2, offset: 17 })))).toEqual({
      topic: TOPIC,
      partition: 2,
      offset: 17,
      failedAt: 1_763_680_060,
      code: 'unknown-reason',
      detail: 'M-1 has no reason coffee',
      machineIds: ['M-1'],
      sourceTopic: 'p1.mes.downtime-reasons.v1',
      sourcePartition: 2,
      sourceOffset: 41,
      sourceTimestamp: 1_763_680_000_123,
      attempts: 0,
      key: 'M-1',
      valueBytes: 19,
      replayedAt: null,
    });
  });
});

describe('letterInFull', () => {
  it('says all there is to say', () => {
    const headers = { 'dlq-http-status': '422', 'dlq-attempts': '3' };
    const original: MessageHeaders = [
      ['trace', 'one'],
      ['empty', ''],
      ['none', null],
      ['trace', Buffer.from([0xff])],
    ];
    const full = letter({ partition: 2, offset: 17, value: '1', headers, original });
    expect(letterInFull(full)).toEqual([
      `${TOPIC} 2/17`,
      '  why       unknown-reason: M-1 has no reason coffee',
      '  failed    2025-11-20T23:07:40Z',
      '  calls     3, the last one HTTP 422',
      '  machine   M-1',
      '  source    p1.mes.downtime-reasons.v1 2/41, written 2025-11-20T23:06:40Z',
      '  replayed  no',
      '  key       M-1',
      '  header    trace: one',
      '  header    empty: ',
      '  header    none: (null)',
      '  header    trace: 0xff',
      '  value, JSON, 1 bytes',
      '    1',
    ]);
  });

  it('stays within bounds, however many and long the headers are', () => {
    const many = Array.from({ length: 5000 }, (_, index) => [`x-${index}`, 'x'.repeat(5000)]);
    const headers = Object.fromEntries(many) as Record<string, string>;
    const text = letterInFull(letter({ headers })).join('\n');
    expect(text.length).toBeLessThan(120_000);
    expect(text).toContain('header    and 4900 more');
  });
});

describe('Overview', () => {
  it('counts by code and by what was replayed, and gives the span of time', () => {
    const overview = new Overview(TOPIC);
    expect(overview.lines()).toEqual([`${TOPIC}: no dead letters`]);
    overview.add(letter({ headers: { 'dlq-failed-at': '1763680000', 'dlq-code': 'too-large' } }));
    overview.add(letter({ replayedAt: 1_763_690_000 }));
    overview.add(letter());
    overview.add(letter({ headers: { 'dlq-code': '\u001b' } }));
    expect(overview.lines()).toEqual([
      `${TOPIC}: 4 dead letters, 1 replayed, the oldest of 2025-11-20T23:06:40Z, ` +
        'the newest of 2025-11-20T23:07:40Z',
      '         2  unknown-reason',
      '         1  too-large',
      '         1  other',
    ]);
    expect(JSON.parse(overview.json())).toEqual({
      topic: TOPIC,
      count: 4,
      replayed: 1,
      byCode: { 'unknown-reason': 2, 'too-large': 1, other: 1 },
      oldest: 1_763_680_000,
      newest: 1_763_680_060,
    });
  });
});
