/**
 * The page's data: session, a signal for each machine's tile, link to Kafka, language. live-updates.ts fills it, the
 * views read it.
 */
import { batch, computed, effect, type Signal, signal } from '@preact/signals';
import type { Link, ReasonLists, Session, Tile } from '../../../src/api/index.js';
import { createFormats } from '../model/formats.js';
import { operatorAt } from '../model/outgoing.js';
import { reasonName } from '../model/reason-choices.js';
import { type Language, languageOf, STRINGS } from '../model/strings.js';
import { compareTiles, distinctNames } from '../model/tiles.js';
import { plantClock, plantMinute, plantSeconds, setPlantClock } from './clock.js';

const PREFIX = 'terminal.';
const valuesIn = (storage: () => Storage) => {
  /** Values for which there is no storage, or no space. */
  const unkept = new Map<string, string>();
  return {
    get: (key: string): string | null => {
      try {
        return unkept.get(key) ?? storage().getItem(PREFIX + key);
      } catch {
        return null;
      }
    },
    set: (key: string, value: string): void => {
      try {
        unkept.set(key, value);
        storage().setItem(PREFIX + key, value);
        unkept.delete(key);
      } catch {
        // without storage the page starts with the defaults every time
      }
    },
  };
};
const local = valuesIn(() => localStorage);
/** For this window only: each of several walls has its own factory. */
export const perWindow = valuesIn(() => sessionStorage);

export const language = signal<Language>(languageOf(local.get('language'), navigator.languages));
export const strings = computed(() => STRINGS[language.value]);
effect(() => {
  document.documentElement.lang = language.value;
  document.title = strings.value.appName;
});

export function setLanguage(chosen: Language): void {
  local.set('language', chosen);
  language.value = chosen;
}

/** The last session; its time zone is stored for when the server is unreachable. */
export const session = signal(parseJson(local.get('session')) as Session | null);
/** `token`: the server asks for a token; `proxy`: a proxy before it asks for a sign-in of its own. */
export const signInNeeded = signal<false | 'token' | 'proxy'>(false);
plantClock.value = parseJson(local.get('plantClock')) as typeof plantClock.value;
effect(() => local.set('plantClock', JSON.stringify(plantClock.value)));

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
}

export const SESSION_KEY = `${PREFIX}session`;

/** Takes over the session that another tab has stored, such as an operator registered there. */
export function adoptSession(text: string | null): void {
  session.value = (parseJson(text) as Session | null) ?? session.peek();
}

export function setSession(receivedTiles: Session): void {
  local.set('session', JSON.stringify(receivedTiles));
  batch(() => {
    setPlantClock(receivedTiles.clock);
    session.value = receivedTiles;
    signInNeeded.value = false;
  });
}

export const operator = computed(() => operatorAt(session.value, plantMinute.value));

export const formats = computed(() =>
  createFormats(language.value, session.value?.timeZone ?? 'UTC'),
);

export const link = signal<Link | null>(null);
/** `since`: plant time at which the connection was lost, or first attempted. */
export const connection = signal<{ state: 'connecting' | 'live' | 'offline'; since: number }>({
  state: 'connecting',
  since: plantSeconds(),
});

/** Plant time at which the server was last heard, also before this page was loaded. */
export function heardUntil(): number | null {
  return Number(local.get('heardUntil')) || null;
}

export function noteHeard(): void {
  local.set('heardUntil', String(plantSeconds()));
}

export const factoryId = signal<string | null>(
  perWindow.get('factoryId') ?? local.get('factoryId'),
);

export function setFactory(chosen: string | null): void {
  for (const { set } of [local, perWindow]) set('factoryId', chosen ?? '');
  factoryId.value = chosen;
}
if (factoryId.value === '') factoryId.value = null;
// also the default: another window may choose before this one is reloaded
perWindow.set('factoryId', factoryId.peek() ?? '');

/** "Known up to" of a tile: an observed state is known up to the plant's latest update. */
export function knownUntilOf({ observation, knownUntil }: Tile): number | null {
  const plant = link.value?.knownUntil ?? null;
  return observation !== 'ok' || plant === null ? knownUntil : Math.max(knownUntil ?? 0, plant);
}

/** Age at which "known up to" is marked as old; an accelerated clock adds the time of transport. */
const OLD_AFTER_SECONDS = 300;
const TRANSPORT_REAL_SECONDS = 5;

export function isOld(knownUntil: number): boolean {
  const speed = session.value?.clock.speed ?? 1;
  return plantMinute.value - knownUntil > OLD_AFTER_SECONDS + TRANSPORT_REAL_SECONDS * speed;
}

/** Tiles as received; `names` has the names of those that are displayed with another one. */
const received = new Map<string, Tile>();
let names: ReadonlyMap<string, string> = new Map();
const tileSignals = new Map<string, Signal<Tile>>();
/** In the order of the wall. */
export const tiles = signal<readonly Tile[]>([]);

export function tileOf(machineId: string): Signal<Tile> | undefined {
  return tileSignals.get(machineId);
}

export function replaceTiles(present: readonly Tile[]): void {
  const there = new Set(present.map(({ machineId }) => machineId));
  changeTiles(
    present,
    [...tileSignals.keys()].filter((machineId) => !there.has(machineId)),
  );
}

export function changeTiles(changed: readonly Tile[], gone: readonly string[]): void {
  batch(() => {
    let placesChange = false;
    for (const tile of changed) {
      const known = received.get(tile.machineId);
      placesChange ||= !known || compareTiles(known, tile) !== 0;
      received.set(tile.machineId, tile);
    }
    for (const machineId of gone) {
      tileSignals.delete(machineId);
      placesChange = received.delete(machineId) || placesChange;
    }
    if (placesChange)
      names = distinctNames([...received.values()], session.peek()?.factories ?? []);
    for (const tile of changed) showTile(tile);
    // a name may have become ambiguous, or unique, by another machine's change
    for (const tile of placesChange ? received.values() : []) {
      if (tileOf(tile.machineId)?.peek().displayName !== nameOf(tile)) showTile(tile);
    }
    tiles.value = placesChange
      ? [...tileSignals.values()].map((tile) => tile.peek()).sort(compareTiles)
      : tiles.peek().flatMap(({ machineId }) => tileOf(machineId)?.peek() ?? []);
  });
}

function nameOf({ machineId, displayName }: Tile): string {
  return names.get(machineId) ?? displayName;
}

function showTile(tile: Tile): void {
  const shown = { ...tile, displayName: nameOf(tile) };
  const known = tileSignals.get(tile.machineId);
  if (known) known.value = shown;
  else tileSignals.set(tile.machineId, signal(shown));
}

export const reasonLists = signal<ReasonLists | null>(null);

/** Empty if the service has named none. */
function listedReasons(machineId: string): ReasonLists['lists'][number] {
  const { lists, machines }: ReasonLists = reasonLists.value ?? { lists: [], machines: {} };
  return lists[machines[machineId]?.list ?? -1] ?? [];
}

export function isListed(machineId: string): boolean {
  return listedReasons(machineId).length > 0;
}

export function reasonsOf(machineId: string): { code: string; name: string }[] | null {
  if (!reasonLists.value) return null;
  if (isListed(machineId)) return listedReasons(machineId);
  // where the bridge may not read the lists, TERMINAL_REASONS_FILE has the known codes
  return Object.keys(session.value?.reasonLooks ?? {}).map((code) => ({ code, name: code }));
}

export function nameOfReason(machineId: string, code: string): string {
  return reasonName(code, session.value, reasonsOf(machineId) ?? [], language.value);
}

/** A short message at the foot of the page; `alert` where something has to be done. */
export const toast = signal<{ text: string; alert: boolean } | null>(null);
let toastTimer = 0;

export function showToast(text: string, alert = false): void {
  toast.value = { text, alert };
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (toast.value = null), alert ? 12_000 : 5_000);
}
