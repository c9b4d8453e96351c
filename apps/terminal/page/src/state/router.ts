import { signal } from '@preact/signals';

export type Route =
  { view: 'wall' | 'stops' | 'hand-over' } | { view: 'machine'; machineId: string };

/** A wall screen starts with the wall, a tablet with what is to be done. */
const WALL_WIDTH_PX = 1600;

export const route = signal<Route>(readRoute());

export function hrefOf(wanted: Route): string {
  return wanted.view === 'machine'
    ? `#/machine/${encodeURIComponent(wanted.machineId)}`
    : `#/${wanted.view}`;
}

function readRoute(): Route {
  const [, view, machineId] = location.hash.split('/');
  if (view === 'machine' && machineId !== undefined) return { view, machineId: decoded(machineId) };
  if (view === 'wall' || view === 'stops' || view === 'hand-over') return { view };
  return { view: window.innerWidth >= WALL_WIDTH_PX ? 'wall' : 'stops' };
}

/** A link that was typed or made elsewhere may have an id as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

window.addEventListener('hashchange', () => {
  route.value = readRoute();
});
