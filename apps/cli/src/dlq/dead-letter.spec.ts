import type { MessageHeaders } from '#libs/contracts';
import { machineIdsOf } from './dead-letter.js';
import { deadLetter, FAILED_AT, TOPIC } from './testing/dead-letter.js';
import {
  formatInFull,
  formatJson,
  formatLine,
  LINE_HEADING,
  lineFormat,
  showValue,
  timeText,
} from './format-dead-letter.js';

describe('a stored dead letter', () => {
  it('has the time of its header, else that of its record', () => {
    expect(deadLetter().failedAt).toBe(FAILED_AT);
    expect(deadLetter({ headers: { 'dlq-failed-at': undefined } }).failedAt).toBe(1_763_680_061);
  });
});

describe('machineIdsOf', () => {
  it('prefers the machines at fault to the one in the message', () => {
    expect(machineIdsOf(deadLetter({ headers: { 'dlq-machine-ids': 'M-7,M%2C8' } }))).toEqual([
      'M-7',
      'M,8',
    ]);
  });

  it('finds the machine in the message, also inside a CloudEvent', () => {
    expect(machineIdsOf(deadLetter({ value: '{"machineId":"M-5"}' }))).toEqual(['M-5']);
    const event = { specversion: '1.0', id: '1', source: '/mes', type: 't' };
    const value = JSON.stringify({ ...event, data: { machineId: 'M-6' } });
    const headers = { 'content-type': 'application/cloudevents+json' };
    expect(machineIdsOf(deadLetter({ value, headers }))).toEqual(['M-6']);
  });

  it.each([
    ['no JSON', '{"machineId":'],
    ['no object', '17'],
    ['null', 'null'],
    ['a machine that is no text', '{"machineId":7}'],
  ])('falls back to the key, where the message is %s', (_, value) => {
    expect(machineIdsOf(deadLetter({ value }))).toEqual(['M-1']);
  });

  it('is empty where nothing names a machine', () => {
    expect(machineIdsOf(deadLetter({ value: null, key: null }))).toEqual([]);
  });
});

const hostile = deadLetter({
  key: Buffer.from('M-\u001b[2J'),
  value: '\u009b',
  headers: { 'dlq-code': '\u001b', 'dlq-detail': 'a\nb', 'x-\u001b': '\u0007' },
});

describe('formatLine', () => {
  it('has position, time, code, machine, detail and the replay', () => {
    expect(formatLine(deadLetter({ partition: 2, offset: 17 })).split(/ {2,}/)).toEqual([
      '2/17',
      '2025-11-20T23:07:40Z',
      'unknown-reason',
      'M-1',
      'M-1 has no reason coffee',
    ]);
    expect(formatLine(deadLetter({ replayedAt: 1_763_690_000 }))).toMatch(
      /coffee \[replayed 2025-11-21T01:53:20Z\]$/,
    );
  });

  it('escapes characters that steer the terminal', () => {
    expect(formatLine(hostile)).toMatch(/^[ -~]*$/);
    expect(formatJson(hostile)).toMatch(/^[ -~]*$/);
    expect(formatInFull(hostile).join('')).toMatch(/^[ -~]*$/);
  });

  it('has the key, such as an order number, under its heading where nothing names a machine', () => {
    const order = deadLetter({ key: Buffer.from('4711'), value: '<order/>' });
    const columnOf = (line: string): string => line.slice(61, 75).trimEnd();
    expect([LINE_HEADING, formatLine(order)].map(columnOf)).toEqual(['machine or key', '4711']);
  });

  it('truncates a key that replaces the machine and is as long as a message', () => {
    const line = formatLine(deadLetter({ key: Buffer.alloc(5000, 'k'), value: 'none' }));
    expect(line).toContain(`${'k'.repeat(100)}... `);
    expect(line.length).toBeLessThan(300);
  });

  it('has the first of many machines', () => {
    const of = (ids: string) => formatLine(deadLetter({ headers: { 'dlq-machine-ids': ids } }));
    expect(of('M-1,M-2,M-3')).toContain(' M-1, M-2, M-3  M-1 has');
    expect(of('M-1,M-2,M-3,M-4,M-5')).toContain(' M-1, M-2, M-3 and 2 more M-1 has');
  });

  it('prints a time that is beyond any date as a number', () => {
    expect(timeText(999_999_999_999_999)).toBe('999999999999999');
  });
});

describe('formatJson', () => {
  it('has the same fields as JSON', () => {
    expect(JSON.parse(formatJson(deadLetter({ partition: 2, offset: 17 })))).toEqual({
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

describe('formatInFull', () => {
  it('has all fields, headers and the value', () => {
    const headers = { 'dlq-http-status': '422', 'dlq-attempts': '3' };
    const original: MessageHeaders = [
      ['trace', 'one'],
      ['empty', ''],
      ['none', null],
      ['trace', Buffer.from([0xff])],
    ];
    const full = deadLetter({ partition: 2, offset: 17, value: '1', headers, original });
    expect(formatInFull(full)).toEqual([
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

  it('bounds the number and length of headers', () => {
    const many = Array.from({ length: 5000 }, (_, index) => [`x-${index}`, 'x'.repeat(5000)]);
    const headers = Object.fromEntries(many) as Record<string, string>;
    const text = formatInFull(deadLetter({ headers })).join('\n');
    expect(text.length).toBeLessThan(120_000);
    expect(text).toContain('header    and 4900 more');
  });
});

const span = (topic: string, until: number) => ({ topic, partition: 0, from: 0, until });
const spans = [span(TOPIC, 1), span('p1.short', 1), span(`${TOPIC}.which-holds-nothing`, 0)];

describe('lineFormat', () => {
  it('begins the lines of several topics with the topic, as wide as the longest with dead letters', () => {
    const { line, heading } = lineFormat(spans, { json: false, namesTopics: true });
    const short = deadLetter({ topic: 'p1.short' });
    expect(heading).toBe(`${'topic'.padEnd(TOPIC.length)}  ${LINE_HEADING}`);
    expect(line(deadLetter())).toBe(`${TOPIC}  ${formatLine(deadLetter())}`);
    expect(line(short)).toBe(`${'p1.short'.padEnd(TOPIC.length)}  ${formatLine(short)}`);
  });

  it('leaves the topic out where one was selected', () => {
    const { line, heading } = lineFormat(spans, { json: false, namesTopics: false });
    expect([heading, line(deadLetter())]).toEqual([LINE_HEADING, formatLine(deadLetter())]);
  });

  it.each([true, false])('has no heading for JSON', (namesTopics) => {
    const { line, heading } = lineFormat(spans, { json: true, namesTopics });
    expect([heading, line(deadLetter())]).toEqual([undefined, formatJson(deadLetter())]);
  });
});

const shown = (value: string | Buffer) => showValue(Buffer.from(value));

describe('showValue', () => {
  it('indents JSON', () => {
    expect(shown('{"a": [1, "x  y"]}')).toEqual({
      heading: 'value, JSON, 18 bytes',
      lines: ['{', '  "a": [', '    1,', '    "x  y"', '  ]', '}'],
    });
  });

  it.each([
    ['digits that would be lost', '{"a":12345678901234567890}'],
    ['a field that comes twice', '{"a":1,"a":2}'],
    ['a byte order mark', '\ufeff{"a":1}'],
    ['no end', '{"a":1'],
    ['nothing', ''],
  ])('shows text as it is, with %s', (_, text) => {
    expect(shown(text).heading).toContain('value, text, ');
    expect(shown(text).lines).toEqual([text.replace('\ufeff', '\\ufeff')]);
  });

  it('does not indent deeply nested JSON, which would grow without bounds', () => {
    const { lines } = shown(`${'['.repeat(30_000)}${']'.repeat(30_000)}`);
    expect(lines).toHaveLength(1);
  });

  it('shows truncated JSON within JSON quickly', () => {
    const startMs = performance.now();
    expect(shown(`"${'\\"'.repeat(32_000)}`).heading).toBe('value, text, 64001 bytes');
    // it took seven seconds
    expect(performance.now() - startMs).toBeLessThan(2000);
  });

  it('escapes characters of text that steer the terminal', () => {
    expect(shown('<a>\n\u001b[2J</a>').lines).toEqual(['<a>', '\\u001b[2J</a>']);
    expect(shown('"\u009b"').lines).toEqual(['"\\u009b"']);
  });

  it('dumps bytes that are not text', () => {
    const bytes = Buffer.from([0xff, ...Buffer.from('abcdefghijklmnop')]);
    expect(shown(bytes)).toEqual({
      heading: 'value, binary, 17 bytes',
      lines: [
        '00000000  ff 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f  |.abcdefghijklmno|',
        '00000010  70                                               |p|',
      ],
    });
  });

  it('shows the first 64 kB, even where that ends within a character', () => {
    const { heading, lines } = shown('ä'.repeat(40_000).slice(1) + 'a' + 'ä'.repeat(40_000));
    expect(heading).toBe('value, text, the first 65536 of 159999 bytes (--raw writes all of them)');
    expect(lines).toHaveLength(1);
    expect(shown(Buffer.alloc(70_000, 0xff)).lines).toHaveLength(4096);
  });

  it('distinguishes an empty value from none', () => {
    expect(showValue(null)).toEqual({ heading: 'no value', lines: [] });
    expect(shown('').heading).toBe('value, text, 0 bytes');
  });
});
