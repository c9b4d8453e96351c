import { showValue } from './show-value.js';

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

  it('does not indent what would grow without bounds', () => {
    const { lines } = shown(`${'['.repeat(30_000)}${']'.repeat(30_000)}`);
    expect(lines).toHaveLength(1);
  });

  it('lets no text steer the terminal', () => {
    expect(shown('<a>\n\u001b[2J</a>').lines).toEqual(['<a>', '\\u001b[2J</a>']);
    expect(shown('"\u009b"').lines).toEqual(['"\\u009b"']);
  });

  it('dumps bytes that are no text', () => {
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

  it('tells an empty value from none', () => {
    expect(showValue(null)).toEqual({ heading: 'no value', lines: [] });
    expect(shown('').heading).toBe('value, text, 0 bytes');
  });
});
