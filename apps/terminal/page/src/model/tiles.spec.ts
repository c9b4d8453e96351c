import type { Tile } from '../../../src/api/index.js';
import { TILE } from './testing/entries.js';
import { ALL_TILES, compareTiles, distinctNames, lookOf, matches, ordersWithin } from './tiles.js';
import { choicesOf, commonReasons, reasonName, withReasons } from './reason-choices.js';

const tile = (more: Partial<Tile>): Tile => ({
  ...{ ...TILE, displayName: 'Lathe 1', workingOrders: ['4711'], ...more },
});

describe('a tile', () => {
  it('shows no state that is no longer observed', () => {
    expect(lookOf(tile({}))).toBe('IDLE');
    expect(lookOf(tile({ observation: 'stale' }))).toBe('NO_DATA');
    expect(lookOf(tile({ state: null }))).toBe('NO_DATA');
  });

  it('is found by factory, state, open stops, and words of its name, id or orders', () => {
    expect(matches(tile({}), ALL_TILES)).toBe(true);
    expect(matches(tile({}), { ...ALL_TILES, factoryId: 'F-2' })).toBe(false);
    expect(matches(tile({}), { ...ALL_TILES, looks: ['OFF', 'IDLE'] })).toBe(true);
    expect(matches(tile({}), { ...ALL_TILES, looks: ['OFF'] })).toBe(false);
    expect(matches(tile({}), { ...ALL_TILES, onlyOpen: true })).toBe(false);
    expect(matches(tile({}), { ...ALL_TILES, text: 'lathe 471' })).toBe(true);
    expect(matches(tile({}), { ...ALL_TILES, text: 'lathe 99' })).toBe(false);
  });

  it('shows whole orders, as many as have room, and how many more there are', () => {
    const orders = ['4500012345', '4500012346', '4500012347'];
    expect(ordersWithin(orders, 24)).toEqual({ shown: '4500012345 · 4500012346', more: 1 });
    expect(ordersWithin(orders, 5)).toEqual({ shown: '4500012345', more: 2 });
    expect(ordersWithin(orders, 99).more).toBe(0);
    expect(ordersWithin([], 24)).toEqual({ shown: '', more: 0 });
  });

  it('keeps its place by name, numbers as numbers, whatever its state', () => {
    const names = ['Lathe 10', 'Lathe 2', 'Grinder 1'].map((displayName) => tile({ displayName }));
    expect(names.sort(compareTiles).map(({ displayName }) => displayName)).toEqual([
      'Grinder 1',
      'Lathe 2',
      'Lathe 10',
    ]);
  });

  it('has a distinct name: with its factory, or with its id if the factory has two of that name', () => {
    const press = (machineId: string, factoryId: string, displayName = 'Press 1') => {
      return tile({ machineId, factoryId, displayName });
    };
    const factories = [{ factoryId: 'F-1', factoryName: 'North' }];
    const machines = [press('M-1', 'F-1'), press('M-2', 'F-2'), press('M-3', 'F-2', 'Press 2')];
    expect([...distinctNames(machines, factories)]).toEqual([
      ['M-1', 'Press 1 · North'],
      ['M-2', 'Press 1 · F-2'],
    ]);
    expect([...distinctNames([...machines, press('M-4', 'F-2')], factories)]).toEqual([
      ['M-1', 'Press 1 · North'],
      ['M-2', 'Press 1 · M-2'],
      ['M-4', 'Press 1 · M-4'],
    ]);
  });
});

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
