import type { MachineState, Tile } from '../../../src/api/index.js';

/** A tile's appearance: an observed state, or no data. */
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
  return hasWords(
    [tile.displayName, tile.machineId, ...(tile.workingOrders ?? [])].join(' '),
    text,
  );
}

/** Whether a text contains every word of a search, or parts of words. */
export function hasWords(text: string, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.toLowerCase().includes(word));
}

/** As many whole orders as fit, at least one, and how many more there are: an order number cut short is a wrong one. */
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

/** By factory and name only, so that a machine keeps its place whatever its state. */
export function compareTiles(a: Tile, b: Tile): number {
  return (
    byName.compare(a.factoryId, b.factoryId) ||
    byName.compare(a.displayName, b.displayName) ||
    byName.compare(a.machineId, b.machineId)
  );
}

type Named = Pick<Tile, 'machineId' | 'displayName' | 'factoryId'>;

/**
 * Names by id for machines that share theirs: with the factory, or with the id if the factory has several of that name.
 */
export function distinctNames(
  machines: readonly Named[],
  factories: readonly { factoryId: string; factoryName: string }[],
): ReadonlyMap<string, string> {
  const factoryNames = new Map(factories.map((each) => [each.factoryId, each.factoryName]));
  const alike = ({ displayName }: Named): string => displayName;
  const alikeThere = ({ displayName, factoryId }: Named): string =>
    JSON.stringify([displayName, factoryNames.get(factoryId) ?? factoryId]);
  const [names, namesThere] = [countsOf(machines, alike), countsOf(machines, alikeThere)];
  const distinct = new Map<string, string>();
  for (const machine of machines) {
    const { machineId, displayName, factoryId } = machine;
    if (names.get(alike(machine)) === 1) continue;
    const isAloneThere = namesThere.get(alikeThere(machine)) === 1;
    const more = isAloneThere ? (factoryNames.get(factoryId) ?? factoryId) : machineId;
    distinct.set(machineId, `${displayName} · ${more}`);
  }
  return distinct;
}

function countsOf(
  machines: readonly Named[],
  keyOf: (machine: Named) => string,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const machine of machines) {
    counts.set(keyOf(machine), (counts.get(keyOf(machine)) ?? 0) + 1);
  }
  return counts;
}
