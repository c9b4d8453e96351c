import type { Tile } from '../../../src/api/index.js';
import { TILE } from './testing/entries.js';
import { ALL_TILES, compareTiles, distinctNames, lookOf, matches, ordersWithin } from './tiles.js';

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
