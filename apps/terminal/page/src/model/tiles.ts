import type { MachineState, Tile } from '../../../src/api/index.js';

/** What a tile shows: a state, or that nothing can be said. A state that is no longer observed is not shown as one. */
export type Look = MachineState | 'NO_DATA';

export function lookOf({ state, observation }: Tile): Look {
  return observation === 'ok' && state !== null ? state : 'NO_DATA';
}

export interface TileFilter {
  factoryId: string | null;
  /** Empty: all of them. */
  looks: readonly Look[];
  onlyOpen: boolean;
  text: string;
}

export const ALL_TILES: TileFilter = { factoryId: null, looks: [], onlyOpen: false, text: '' };

export function matches(tile: Tile, { factoryId, looks, onlyOpen, text }: TileFilter): boolean {
  if (factoryId !== null && tile.factoryId !== factoryId) return false;
  if (looks.length > 0 && !looks.includes(lookOf(tile))) return false;
  if (onlyOpen && tile.openStops.length === 0) return false;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const searched =
    `${tile.displayName} ${tile.machineId} ${tile.workingOrders?.join(' ') ?? ''}`.toLowerCase();
  return words.every((word) => searched.includes(word));
}

/** As many orders as have room, at least one, and how many more there are: a number that is cut is another number. */
export function ordersWithin(
  orders: readonly string[],
  characters: number,
): { shown: string; more: number } {
  let shown = orders[0] ?? '';
  let count = Math.min(1, orders.length);
  for (; count < orders.length; count++) {
    const next = `${shown} · ${orders[count] ?? ''}`;
    if (next.length > characters) break;
    shown = next;
  }
  return { shown, more: orders.length - count };
}

const byName = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** By factory and name and nothing else: a machine keeps its place, so that it is found without reading. */
export function compareTiles(a: Tile, b: Tile): number {
  return (
    byName.compare(a.factoryId, b.factoryId) ||
    byName.compare(a.displayName, b.displayName) ||
    byName.compare(a.machineId, b.machineId)
  );
}
