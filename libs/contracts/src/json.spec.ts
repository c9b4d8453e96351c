import fc from 'fast-check';
import { MAX_BODY_BYTES, readJson } from './json.js';

const codeOf = (body: Buffer | string): string => {
  const json = readJson(Buffer.from(body));
  return json.ok ? 'read' : json.rejection.code;
};
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('reading JSON', () => {
  it('tolerates a byte order mark', () => {
    expect(readJson(Buffer.from('\ufeff{"a":1}'))).toEqual({ ok: true, value: { a: 1 } });
  });

  it('reads a body of exactly the largest size and refuses one byte more', () => {
    expect(codeOf(`"${'x'.repeat(MAX_BODY_BYTES - 2)}"`)).toBe('read');
    expect(codeOf(`"${'x'.repeat(MAX_BODY_BYTES - 1)}"`)).toBe('too-large');
  });

  it('reads 64 levels and refuses the 65th', () => {
    expect(codeOf(nested(64))).toBe('read');
    expect(codeOf(nested(65))).toBe('invalid-message');
  });

  it('does not count brackets inside strings', () => {
    expect(codeOf(JSON.stringify(`\\"${'['.repeat(100)}`))).toBe('read');
  });

  it('survives half a million levels', () => {
    expect(codeOf(nested(500_000))).toBe('invalid-message');
  });

  it.each([
    ['at the top', '{"a": 1, "b": 2, "a": 1}', '"a"'],
    ['further in', '{"list": [{"a": 1}, {"a": {"b": 1, "b": 2}}]}', '"b"'],
    ['escaped the second time', '{"a": 1, "\\u0061": 2}', '"\\u0061"'],
    ['with blanks before its colon', '{"a" : 1, "a"\n\t: 2}', '"a"'],
    ['called __proto__', '{"__proto__": 1, "__proto__": 2}', '"__proto__"'],
    ['empty', '{"": 1, "": 2}', '""'],
  ])('refuses a key that is there twice, %s', (_, text, key) => {
    expect(readJson(Buffer.from(text))).toMatchObject({
      ok: false,
      rejection: {
        code: 'invalid-message',
        detail: `the key ${key} is there twice in one object`,
      },
    });
  });

  it.each([
    '[{"a": 1}, {"a": 2}]',
    '{"a": {"a": 1}, "b": {"a": 2}}',
    '{"a": "\\"a\\": 1", "b": ":a", "c": "{\\"a\\": 1, \\"a\\": 2}"}',
    JSON.stringify({ text: '":'.repeat(300_000) }),
  ])('reads what has no key twice in one object: %.60s', (text) => {
    expect(codeOf(text)).toBe('read');
  });

  it('finds exactly the repeated keys, also escaped ones', () => {
    fc.assert(
      fc.property(node, (written) => {
        expect(codeOf(written.text)).toBe(written.isRepeating ? 'invalid-message' : 'read');
      }),
    );
  });

  it('never quotes the payload in a refusal', () => {
    const json = readJson(Buffer.from('{"password": hunter2}'));

    expect(json).toMatchObject({ ok: false, rejection: { code: 'invalid-json' } });
    expect(JSON.stringify(json)).not.toContain('hunter');
  });
});

/** A JSON text, and whether an object in it has a key twice. */
interface Written {
  text: string;
  isRepeating: boolean;
}

const blank = fc.constantFrom('', '', ' ', '\n\t');
const someText = fc.string({ unit: fc.constantFrom('a', 'b', ':', '"', '{', '}', '\\', 'é') });

/** A JSON string, some of its characters escaped without need. */
const literal = fc.tuple(someText, fc.infiniteStream(fc.boolean())).map(([text, escaped]) => {
  const characters = Array.from(text, (character) =>
    escaped.next().value === true
      ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
      : JSON.stringify(character).slice(1, -1),
  );
  return { text, written: `"${characters.join('')}"` };
});

const { node } = fc.letrec<{ node: Written }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.integer().map(String), fc.constantFrom('null', 'true')).map(plain),
    literal.map(({ written }) => plain(written)),
    fc.array(tie('node'), { maxLength: 4 }).map((items) => ({
      text: `[${items.map(({ text }) => text).join(',')}]`,
      isRepeating: items.some(({ isRepeating }) => isRepeating),
    })),
    fc.array(fc.tuple(literal, blank, tie('node')), { maxLength: 5 }).map((members) => ({
      text: `{${members.map(([key, gap, { text }]) => key.written + gap + ':' + gap + text).join(',')}}`,
      isRepeating:
        new Set(members.map(([key]) => key.text)).size < members.length ||
        members.some(([, , { isRepeating }]) => isRepeating),
    })),
  ),
}));

function plain(text: string): Written {
  return { text, isRepeating: false };
}
