import { readDisplayName } from './display-name.js';

describe('readDisplayName', () => {
  it.each([
    ['a plain string', 'Mill 1', 'Mill 1'],
    ['a name in English among others', { de: 'Fräse 1', en: 'Mill 1' }, 'Mill 1'],
    ['a name field', { id: 'x', name: 'Mill 1' }, 'Mill 1'],
    ['a value field', { lang: 'en', value: 'Mill 1' }, 'Mill 1'],
    ['a displayName field', { key: 'k', displayName: 'Mill 1' }, 'Mill 1'],
    ['the first text of an unknown structure', { a: 1, fi: 'Jyrsin 1', sv: 'Fräs 1' }, 'Jyrsin 1'],
    ['a name inside a wrapper', { translations: { en: 'Mill 1' } }, 'Mill 1'],
    ['another name when the likely one is blank', { en: ' ', de: 'Fräse 1' }, 'Fräse 1'],
  ])('takes %s', (_case, name, expected) => {
    expect(readDisplayName(name)).toBe(expected);
  });

  it.each([undefined, null, '', '  ', 7, {}, [], { en: 7 }])('finds no name in %j', (name) => {
    expect(readDisplayName(name)).toBeUndefined();
  });

  it('does not follow a structure nested without end', () => {
    let nested: object = { en: 'deep' };
    for (let depth = 0; depth < 100_000; depth += 1) nested = { nested };
    expect(readDisplayName(nested)).toBeUndefined();
  });
});
