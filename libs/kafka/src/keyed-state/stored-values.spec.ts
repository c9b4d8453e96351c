import { PackedJson } from './packed-json.js';
import { StoredValues } from './stored-values.js';

describe.each([
  ['as they are stored', undefined],
  ['without the names of fields', new PackedJson()],
])('StoredValues, %s', (_, packed) => {
  let values: StoredValues<number>;

  beforeEach(() => {
    const texts = new Map([
      ['M-1', '1'],
      ['M-2', '"two"'],
      ['M-3', '{"n":'],
    ]);
    const parse = (json: unknown) => (typeof json === 'number' ? json : undefined);
    values = new StoredValues(texts, parse, packed);
  });

  it('reads what is stored, and takes for forgotten what it cannot read', () => {
    expect(values.get('M-1')).toBe(1);
    expect(['M-2', 'M-3', 'M-4'].map((key) => values.get(key))).toEqual(Array(3).fill(undefined));
    expect([...values.entries()]).toEqual([['M-1', 1]]);
  });

  it('tells the keys without reading what they stand for', () => {
    expect([...values.keys()]).toEqual(['M-1', 'M-2', 'M-3']);
  });

  it('takes new values in, and forgets', () => {
    values.put('M-2', '2');
    values.put('M-1', null);
    expect([...values.entries()]).toEqual([['M-2', 2]]);
  });
});
