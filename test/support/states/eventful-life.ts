import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import { Chance } from '../chaos/chance.js';

const MINUTE = 60;
const HOURS_BEFORE = 2;
/** A gap without data is never longer than the time after which a machine is stale. */
const LONGEST_GAP_MINUTES = 12;

/** The pattern of a machine's days. */
export type Habit = 'ordinary' | 'hasty' | 'interrupted' | 'steady';

/** The habits of every ten machines. */
const HABITS: readonly Habit[] = [
  ...Array<Habit>(4).fill('ordinary'),
  ...Array<Habit>(2).fill('hasty'),
  ...Array<Habit>(2).fill('interrupted'),
  ...Array<Habit>(2).fill('steady'),
];

/** Minutes that a state lasts, shortest and longest; short ones are likelier. */
const LASTS: Record<Habit, readonly [number, number]> = {
  ordinary: [2, 40],
  hasty: [1, 3],
  interrupted: [3, 30],
  steady: [100, 400],
};

interface ScriptedMachine {
  machineId: string;
  factoryId: string;
  updatePhaseSeconds: number;
  periods: { startTime: number; endTime: number; state: MachineState }[];
}

/**
 * A plant with many changes that can be missed, as a timeline script (docs/sandbox.md); the same around each
 * `beginning`.
 */
export class EventfulLife {
  readonly script: { machines: ScriptedMachine[] };
  private readonly habits = new Map<string, Habit>();

  /**
   * @param beginning epoch seconds
   * @param hours of the plant's time, from `beginning` on
   */
  constructor(
    beginning: number,
    machines: number,
    private readonly hours: number,
  ) {
    const startTime = (Math.floor(beginning / MINUTE) - HOURS_BEFORE * 60) * MINUTE;
    const numbers = Array.from({ length: machines }, (_, index) => index + 1);
    this.script = { machines: numbers.map((number) => this.machine(number, startTime)) };
  }

  /** The machines with these habits. */
  machineIds(...habits: Habit[]): string[] {
    return [...this.habits].flatMap(([id, habit]) => (habits.includes(habit) ? [id] : []));
  }

  private machine(number: number, startTime: number): ScriptedMachine {
    const habit = HABITS[number % HABITS.length] ?? 'ordinary';
    const machineId = `${habit}-${number}`;
    this.habits.set(machineId, habit);
    return {
      machineId,
      factoryId: `F-${number % 3}`,
      updatePhaseSeconds: (number * 7) % MINUTE,
      periods: periodsOf(habit, new Chance(number * 7919), startTime, this.hours),
    };
  }
}

function periodsOf(
  habit: Habit,
  chance: Chance,
  firstTime: number,
  hours: number,
): ScriptedMachine['periods'] {
  const periods: ScriptedMachine['periods'] = [];
  const lastTime = firstTime + (HOURS_BEFORE + hours) * 60 * MINUTE;
  let state: MachineState = 'IDLE';
  for (let startTime = firstTime; startTime < lastTime;) {
    const endTime = startTime + between(...LASTS[habit], chance.next()) * MINUTE;
    periods.push({ startTime, endTime, state });
    const isGap = habit === 'interrupted' && chance.next() < 0.4;
    startTime = endTime + (isGap ? between(1, LONGEST_GAP_MINUTES, chance.next()) * MINUTE : 0);
    // after a gap, the same state may go on as a new period
    const others = MACHINE_STATES.filter((it) => isGap || it !== state);
    state = chance.pick(others);
  }
  return periods;
}

/** Whole minutes; short spans are likelier than long ones. */
function between(shortest: number, longest: number, draw: number): number {
  return Math.round(shortest * (longest / shortest) ** draw);
}
