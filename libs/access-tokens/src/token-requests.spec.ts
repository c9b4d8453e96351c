import fc from 'fast-check';
import { jwtLifeMs } from './token-requests.js';

const NOW_MS = 1_763_680_000_000;

function jwt(claims: unknown): string {
  const part = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part(claims)}.signature`;
}

describe('the life of a JWT', () => {
  it('is what is left until exp', () => {
    expect(jwtLifeMs(jwt({ exp: 1_763_680_300 }), NOW_MS)).toBe(300_000);
    expect(jwtLifeMs(jwt({ exp: 1_763_680_000.5, name: 'Jürgen' }), NOW_MS)).toBe(500);
  });

  it.each([
    ['an opaque token', 'f3d1-secret'],
    ['two parts', 'a.b'],
    ['a part that is no JSON', 'a.b.c'],
    ['no exp', jwt({ sub: 'me' })],
    ['null in place of claims', jwt(null)],
    ['a text in place of a time', jwt({ exp: '1763680300' })],
    ['milliseconds', jwt({ exp: 1_763_680_300_000 })],
    ['a time that has passed, where a clock is wrong', jwt({ exp: 1_763_679_999 })],
  ])('is not known of %s', (_what, token) => {
    expect(jwtLifeMs(token, NOW_MS)).toBeNull();
  });

  it('is not known of any text', () => {
    fc.assert(fc.property(fc.string(), (text) => jwtLifeMs(`a.${text}.c`, NOW_MS) === null));
  });
});
