import fc from 'fast-check';
import { PackedJson, StoredValues } from './stored-values.js';

describe('PackedJson', () => {
  const again = (packed: PackedJson, text: string): unknown => packed.unpack(packed.pack(text));

  it('returns any JSON as it was', () => {
    const packed = new PackedJson();
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value: unknown = JSON.parse(text);
        expect(JSON.stringify(again(packed, text))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('returns objects used as maps, however many keys they have had', () => {
    const packed = new PackedJson();
    for (let number = 0; number < 1000; number += 1) {
      const value = { byMachine: { [`M-${number}`]: [1, { a: number }] }, last: [number] };
      expect(again(packed, JSON.stringify(value))).toEqual(value);
    }
  });

  it.each([
    '{"__proto__":1,"a":2}',
    '{"constructor":1}',
    '{"2":"b","1":"a"}',
    '[[-1],[0],[]]',
    '0',
  ])('is not misled by %s', (text) => {
    expect(JSON.stringify(again(new PackedJson(), text))).toBe(JSON.stringify(JSON.parse(text)));
  });

  it('takes less than half for similar values', () => {
    const period = { state: 'OFF', startTime: 1763680000, previousState: null, revision: 0 };
    const text = JSON.stringify({ displayName: 'Lathe', periods: [period, period], replaced: [] });
    expect(new PackedJson().pack(text).length).toBeLessThan(text.length / 2);
  });

  it('accepts only JSON', () => {
    expect(() => new PackedJson().pack('{"n":')).toThrow(SyntaxError);
  });
});

describe.each([
  ['as they are stored', false],
  ['without the names of fields', true],
])('StoredValues, %s', (_, isPacked) => {
  let values: StoredValues<number>;

  beforeEach(() => {
    const texts = new Map([
      ['M-1', '1'],
      ['M-2', '"two"'],
      ['M-3', '{"n":'],
    ]);
    const parse = (json: unknown) => (typeof json === 'number' ? json : undefined);
    values = new StoredValues(texts, parse, isPacked);
  });

  it('reads stored values, and treats unreadable ones as absent', () => {
    expect(values.get('M-1')).toBe(1);
    expect(['M-2', 'M-3', 'M-4'].map((key) => values.get(key))).toEqual(Array(3).fill(undefined));
    expect([...values.entries()]).toEqual([['M-1', 1]]);
  });

  it('lists the keys without parsing values', () => {
    expect([...values.keys()]).toEqual(['M-1', 'M-2', 'M-3']);
  });

  it('stores new values, and deletes them', () => {
    values.put('M-2', '2');
    values.put('M-1', null);
    expect([...values.entries()]).toEqual([['M-2', 2]]);
  });
});
