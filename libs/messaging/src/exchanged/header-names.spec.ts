import fc from 'fast-check';
import { readHeaderName } from './header-names.js';

describe('the name of a header', () => {
  it('is the text of its bytes, whatever was read before', () => {
    const name = fc.oneof(
      // Few, so that the same comes again, and others that share its place.
      fc.string({ unit: fc.constantFrom('a', 'b', 'ä'), maxLength: 4 }),
      fc.string({ unit: 'binary', maxLength: 60 }),
    );
    fc.assert(
      fc.property(fc.array(name, { maxLength: 200 }), (names) => {
        for (const text of names) {
          const bytes = Buffer.from(`a${text}b`);
          expect(readHeaderName(bytes, 1, bytes.length - 1)).toBe(
            bytes.toString('utf8', 1, bytes.length - 1),
          );
        }
      }),
    );
  });

  it('is kept when the bytes it was read from are gone', () => {
    const bytes = Buffer.from('name');
    readHeaderName(bytes, 0, 4);
    bytes.write('gone');
    expect(readHeaderName(Buffer.from('name'), 0, 4)).toBe('name');
    expect(readHeaderName(bytes, 0, 4)).toBe('gone');
  });
});
