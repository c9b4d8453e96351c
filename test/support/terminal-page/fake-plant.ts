import type { MachineView, OpenStop, Session, Tile } from '../../../apps/terminal/src/index.js';
import type { FakePlant } from './fake-terminal.js';

const NAMES = [
  'Milling centre',
  'Lathe',
  'Grinder',
  'Press brake',
  'Laser cutter',
  'Injection moulder',
];
const REASONS = [
  { code: '11', name: 'Planned maintenance' },
  { code: '12', name: 'Cleaning' },
  { code: '13', name: 'Set-up' },
  { code: '14', name: 'Tool change' },
  { code: '15', name: 'First-off inspection' },
  { code: '16', name: 'No material' },
  { code: '17', name: 'No operator' },
  { code: '18', name: 'No order' },
  { code: '19', name: 'Break' },
  { code: '20', name: 'Mechanical fault' },
  { code: '21', name: 'Electrical fault' },
  { code: '22', name: 'Waiting for quality release' },
  { code: '31', name: 'Milling cutter broken' },
];
const GERMAN: Record<string, string> = {
  '11': 'Geplante Wartung',
  '12': 'Reinigung',
  '13': 'Rüsten',
  '14': 'Werkzeugwechsel',
  '15': 'Erstteilprüfung',
  '16': 'Kein Material',
  '17': 'Kein Bediener',
  '19': 'Pause',
  '20': 'Mechanische Störung',
  '21': 'Elektrische Störung',
};
const GROUPS = [
  {
    group: 'planned',
    colour: '#5b7f95',
    names: { en: 'Planned', de: 'Geplant' },
    codes: ['11', '12', '13', '14', '19'],
  },
  {
    group: 'fault',
    colour: '#9a4a4a',
    names: { en: 'Faults', de: 'Störungen' },
    codes: ['20', '21'],
  },
  {
    group: 'missing',
    colour: '#8a6d9c',
    names: { en: 'Something is missing', de: 'Es fehlt etwas' },
    codes: ['16', '17', '18'],
  },
];

/** Monday, 23 November 2026, 14:07 in Berlin; the early shift began at 06:00. */
export const NOW = 1_795_439_220;
const SHIFT_START = NOW - (8 * 60 + 7) * 60;
const SHIFT_SECONDS = 10 * 3600;

/** A plant with machines that run, machines that stopped without a reason, machines that are off, and unknown ones. */
export function fakePlant(machines: number, speed = 1): FakePlant {
  const ids = Array.from(
    { length: machines },
    (_, index) => `M-${String(index + 1).padStart(3, '0')}`,
  );
  const views = new Map<string, MachineView>();
  const tiles = ids.map((machineId, index) => {
    const periods = periodsOf(index);
    const tile = tileOf(machineId, index, periods);
    views.set(machineId, {
      tile,
      periods,
      settledUntil: NOW - 600,
      entries: [],
      classifications: [],
      notes: [],
      reasons: REASONS,
      favourites: [],
    });
    return tile;
  });
  return {
    session: sessionOf(speed),
    tiles,
    views,
    reasons: {
      lists: [REASONS],
      machines: Object.fromEntries(
        ids.map((machineId) => [machineId, { list: 0, favourites: ['13', '14', '16', '20'] }]),
      ),
    },
  };
}

function sessionOf(speed: number): Session {
  const looks = GROUPS.flatMap(({ group, codes }) =>
    codes.map((code) => [code, { group }] as const),
  );
  return {
    station: 'Line 1',
    operator: null,
    timeZone: 'Europe/Berlin',
    clock: { epochSeconds: NOW, speed },
    stopThresholdSeconds: 120,
    shifts: [
      { startTime: SHIFT_START, endTime: SHIFT_START + SHIFT_SECONDS },
      { startTime: SHIFT_START - SHIFT_SECONDS, endTime: SHIFT_START },
    ],
    factories: [
      { factoryId: 'F-1', factoryName: 'Plant North' },
      { factoryId: 'F-2', factoryName: 'Plant South' },
    ],
    reasonLooks: Object.fromEntries(
      REASONS.map(({ code }) => [
        code,
        {
          ...new Map(looks).get(code),
          ...(GERMAN[code] === undefined ? {} : { names: { de: GERMAN[code] } }),
        },
      ]),
    ),
    groups: GROUPS.map(({ group, colour, names }) => ({ group, colour, names })),
  };
}

type Periods = MachineView['periods'];

/** Periods from SHIFT_START to now, different for every machine and the same every time. */
function periodsOf(index: number): Periods {
  const periods: Periods = [];
  let at = SHIFT_START - 3600;
  for (let step = 0; at < NOW - 1200; step++) {
    const minutes = 25 + ((index * 37 + step * 53) % 70);
    const isStop = step % 2 === 1;
    const length = isStop ? 4 + ((index * 13 + step * 7) % 22) : minutes;
    const state = !isStop ? 'OPERATING' : (index + step) % 5 === 0 ? 'OFF' : 'IDLE';
    const endTime = Math.min(NOW - 600, at + length * 60);
    periods.push({
      state: index % 9 === 4 && step === 4 ? null : state,
      startTime: at,
      endTime,
      revision: 0,
    });
    at = endTime;
  }
  const last = index % 6 === 2 ? 'IDLE' : index % 6 === 4 ? 'OFF' : 'OPERATING';
  periods.push({ state: last, startTime: at, endTime: null, revision: 0 });
  return periods;
}

function tileOf(machineId: string, index: number, periods: Periods): Tile {
  const present = periods[periods.length - 1];
  const isLost = index % 12 === 11;
  const stops = periods.filter(
    ({ state, startTime }) => (state === 'IDLE' || state === 'OFF') && startTime > NOW - 3 * 3600,
  );
  const kept =
    index % 6 === 2 || index % 6 === 4 ? stops.slice(-2) : index % 4 === 1 ? stops.slice(-1) : [];
  const openStops = kept.map(({ startTime, endTime, state }): OpenStop => {
    return { startTime, endTime, state: state === 'OFF' ? 'OFF' : 'IDLE' };
  });
  return {
    machineId,
    displayName: `${NAMES[index % NAMES.length] ?? ''} ${Math.floor(index / NAMES.length) + 1}`,
    factoryId: index % 2 === 0 ? 'F-1' : 'F-2',
    state: present?.state ?? null,
    startTime: present?.startTime ?? null,
    observation: isLost ? 'noData' : 'ok',
    knownUntil: isLost ? NOW - 2400 : NOW - 60,
    workingOrders:
      index % 7 === 6
        ? []
        : Array.from({ length: 1 + (index % 4) }, (_, n) => String(4711 + index * 3 + n)),
    openStops: isLost ? [] : openStops,
    shortStops: { count: index % 3, seconds: (index % 3) * 70 },
    goingOn: null,
  };
}
