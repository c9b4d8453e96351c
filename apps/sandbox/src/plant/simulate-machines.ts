import type { ShiftCalendar } from '#libs/clock';
import { FlickeringTimeline, SimulatedTimeline } from './simulated-timeline.js';
import { ForcibleTimeline } from './forcible-timeline.js';
import type { PlantMachine } from './plant.js';
import { COMMON_REASONS, MACHINE_TYPES } from './machine-types.js';
import { ScriptedTimeline } from './scripted-timeline.js';
import { seededRandom } from './seeded-random.js';
import type { Timeline } from './timeline.js';

const FACTORIES = [
  { factoryId: 'F-1', factoryName: 'Factory North' },
  { factoryId: 'F-2', factoryName: 'Factory South' },
] as const;

/** Special cases for tests; a plant with fewer than four machines has none. */
type Oddity = 'no-data' | 'flickers' | 'no-reasons' | 'none';

/**
 * The simulated plant: `M-001`, `M-002`, … in two factories. Counted from the end, the last machine
 * never has data, the second last flickers within the minute, the third last has no reasons.
 */
export function simulateMachines(
  plant: { machines: number; seed: string },
  calendar: ShiftCalendar,
): PlantMachine[] {
  return Array.from({ length: plant.machines }, (_, index) => {
    const oddity = oddityOf(index, plant.machines);
    const type = MACHINE_TYPES[index % MACHINE_TYPES.length] ?? MACHINE_TYPES[0];
    const key = { seed: plant.seed, machineIndex: index };
    const random = seededRandom(plant.seed, index, 'phase');
    return {
      machineId: `M-${String(index + 1).padStart(3, '0')}`,
      machineDisplayName: {
        en: `${type.name} ${Math.floor(index / MACHINE_TYPES.length) + 1}`,
      },
      ...(index < plant.machines / 2 ? FACTORIES[0] : FACTORIES[1]),
      reasons: oddity === 'no-reasons' ? [] : [...COMMON_REASONS, type.reason],
      updatePhaseSeconds: Math.floor(random() * 60),
      timeline: new ForcibleTimeline(timelineOf(oddity, calendar, key)),
    };
  });
}

function oddityOf(index: number, machines: number): Oddity {
  if (machines < 4) return 'none';
  const fromEnd = (['no-data', 'flickers', 'no-reasons'] as const)[machines - 1 - index];
  return fromEnd ?? 'none';
}

function timelineOf(
  oddity: Oddity,
  calendar: ShiftCalendar,
  key: { seed: string; machineIndex: number },
): Timeline {
  if (oddity === 'no-data') return new ScriptedTimeline([]);
  const pattern = patternOf(oddity === 'flickers' ? 0 : key.machineIndex, calendar.shiftsPerDay);
  const own = new SimulatedTimeline(calendar, pattern, key);
  return oddity === 'flickers' ? new FlickeringTimeline(own, key) : own;
}

/** Every other machine runs around the clock, the rest in all, two or one of the weekday shifts. */
function patternOf(index: number, shiftsPerDay: number): { shifts: number; weekends: boolean } {
  if (index % 2 === 0) return { shifts: shiftsPerDay, weekends: true };
  return { shifts: [shiftsPerDay, 2, 1][((index - 1) / 2) % 3] ?? 1, weekends: false };
}
