import { signal } from '@preact/signals';

export type Route =
  { view: 'wall' | 'stops' | 'hand-over' } | { view: 'machine'; machineId: string };

/** Wall screens start with the wall, tablets with the stops. */
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

/** The text itself if it is not URI-encoded, as in a link typed by hand. */
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
