import { MACHINE_STATES, type MachineState } from '#libs/contracts';

const MINUTE = 60;
/** Before and after the beginning: more than any test lasts, at sixty times the speed. */
const HOURS_BEFORE = 2;
const HOURS_AFTER = 6;
/** A machine is never without data for longer than it takes to be called stale. */
const LONGEST_GAP_MINUTES = 12;

/** What a machine's days are like. */
export type Habit = 'ordinary' | 'hasty' | 'interrupted' | 'steady';

/** Out of every ten machines. */
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

/** A plant of which a lot can be missed, as a timeline script (docs/sandbox.md): the same around each `beginning`. */
export class EventfulLife {
  readonly script: { machines: ScriptedMachine[] };
  private readonly habits = new Map<string, Habit>();

  /** @param beginning epoch seconds */
  constructor(beginning: number, machines: number) {
    const startTime = (Math.floor(beginning / MINUTE) - HOURS_BEFORE * 60) * MINUTE;
    const numbers = Array.from({ length: machines }, (_, index) => index + 1);
    this.script = { machines: numbers.map((number) => this.machine(number, startTime)) };
  }

  /** The machines of these habits. */
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
      periods: periodsOf(habit, seeded(number), startTime),
    };
  }
}

function periodsOf(
  habit: Habit,
  random: () => number,
  firstTime: number,
): ScriptedMachine['periods'] {
  const periods: ScriptedMachine['periods'] = [];
  const lastTime = firstTime + (HOURS_BEFORE + HOURS_AFTER) * 60 * MINUTE;
  let state: MachineState = 'IDLE';
  for (let startTime = firstTime; startTime < lastTime;) {
    const endTime = startTime + between(...LASTS[habit], random()) * MINUTE;
    periods.push({ startTime, endTime, state });
    const isGap = habit === 'interrupted' && random() < 0.4;
    startTime = endTime + (isGap ? between(1, LONGEST_GAP_MINUTES, random()) * MINUTE : 0);
    // After a gap the same state may go on, as a period of its own.
    const others = MACHINE_STATES.filter((it) => isGap || it !== state);
    state = others[Math.floor(random() * others.length)] ?? state;
  }
  return periods;
}

/** Whole minutes, short spans likelier than long ones. */
function between(shortest: number, longest: number, draw: number): number {
  return Math.round(shortest * (longest / shortest) ** draw);
}

/** mulberry32: numbers from 0 to 1, the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed * 7919;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
