import fc from 'fast-check';

import { printable, rejected } from './rejection.js';
import { anyCharacter } from './testing/any-character.js';

describe('a rejection', () => {
  it('holds no control characters and is never longer than 300 characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 700 }), (detail) => {
        const { rejection } = rejected('invalid-message', detail);
        expect(rejection.detail.length).toBeLessThanOrEqual(300);
        expect(rejection.detail).not.toMatch(/[\p{Cc}\p{Cs}]/u);
      }),
    );
  });

  it('is not cut through a character', () => {
    expect(printable(`${'x'.repeat(298)}😀😀`)).toBe(`${'x'.repeat(298)}…`);
  });

  it('cannot turn a terminal around', () => {
    expect(printable('a\u202eb\u001b[2Jc')).toBe('a\ufffdb\ufffd[2Jc');
  });
});
