import { choicesOf, commonReasons, reasonName, withReasons } from './reason-choices.js';

const reasons = [
  { code: '13', name: 'Set-up' },
  { code: '20', name: 'Mechanical fault' },
  { code: '99', name: 'Unheard of' },
];
const looks = {
  reasonLooks: { '13': { group: 'planned', names: { de: 'Rüsten' } }, '20': { group: 'fault' } },
  groups: [
    { group: 'fault', colour: '#900' },
    { group: 'planned', names: { de: 'Geplant' } },
  ],
};

describe('the choice of reasons', () => {
  it('has groups in the order of the file, and reasons without a group at the end', () => {
    const { groups } = choicesOf(reasons, [], looks, 'de', '');
    expect(groups.map(({ title, choices }) => [title, choices.map(({ name }) => name)])).toEqual([
      ['fault', ['Mechanical fault']],
      ['Geplant', ['Rüsten']],
      [null, ['Unheard of']],
    ]);
  });

  it('has at most four favourites, of those the machine still offers', () => {
    const { favourites } = choicesOf(reasons, ['77', '20', '13'], looks, 'en', 'no match');
    expect(favourites.map(({ code }) => code)).toEqual(['20', '13']);
  });

  it('is narrowed by words of the name in the own language, or by the code', () => {
    const found = (search: string): string[] =>
      choicesOf(reasons, [], looks, 'de', search).groups.flatMap(({ choices }) =>
        choices.map(({ code }) => code),
      );
    expect(found('rüs')).toEqual(['13']);
    expect(found('99')).toEqual(['99']);
    expect(found('set')).toEqual([]);
  });

  it('names an unknown code by itself', () => {
    expect(reasonName('55', looks, reasons, 'en')).toBe('55');
    expect(reasonName('13', null, reasons, 'de')).toBe('Set-up');
  });

  it('for several machines has the reasons that all of them offer', () => {
    expect(commonReasons([reasons, reasons.slice(1)]).map(({ code }) => code)).toEqual([
      '20',
      '99',
    ]);
  });
});

describe('the reasons of machines', () => {
  it('are those received last, each list once', () => {
    const [cooling, tools] = [[{ code: '22', name: 'Cooling' }], [{ code: '23', name: 'Tools' }]];
    const of = (list: number) => ({ list, favourites: [] });
    const first = withReasons(null, { lists: [cooling], machines: { a: of(0), b: of(0) } });
    const received = { lists: [tools, [...cooling]], machines: { b: of(0), c: of(1) } };
    expect(withReasons(first, received)).toEqual({
      lists: [cooling, tools],
      machines: { a: of(0), b: of(1), c: of(0) },
    });
    expect(first.machines['b']).toEqual(of(0));
  });

  it('are those of every machine, whatever its id', () => {
    const machines = Object.fromEntries([['__proto__', { list: 0, favourites: [] }]]);
    const received = { lists: [[{ code: '22', name: 'Cooling' }]], machines };
    expect(withReasons(null, received)).toEqual(received);
  });
});
