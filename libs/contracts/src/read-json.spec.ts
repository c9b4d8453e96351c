import { MAX_BODY_BYTES, readJson } from './read-json.js';

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

  it('never quotes the payload when it refuses', () => {
    const json = readJson(Buffer.from('{"password": hunter2}'));

    expect(json).toMatchObject({ ok: false, rejection: { code: 'invalid-json' } });
    expect(JSON.stringify(json)).not.toContain('hunter');
  });
});
