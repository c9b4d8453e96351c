import fc from 'fast-check';
import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import {
  MINUTE,
  type Mistake,
  SETTLE_SECONDS,
  SimulatedService,
  type Timeline,
} from './simulated-service.js';
import {
  type LogConduct,
  type Poll,
  WatchedMachine,
  type WatchOptions,
} from './watched-machine.js';

export const SETTLE_MINUTES = SETTLE_SECONDS / MINUTE;

const anyState = fc.constantFrom(...MACHINE_STATES, null);

/** SETTLE_SECONDS: the service may change its log for as long; at 120 or less, corrections rely on a changing log. */
const settlings = fc.constantFrom(SETTLE_SECONDS, SETTLE_SECONDS, 180, 900, 3600);

/** Ends in a state that lasts until everything is settled. */
const timelines = fc
  .tuple(
    fc.array(
      fc.record({
        state: anyState,
        minutes: fc.oneof(
          { weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) },
          fc.integer({ min: 1, max: 90 }),
        ),
      }),
      { maxLength: 30, size: 'max' },
    ),
    fc.constantFrom(...MACHINE_STATES),
    settlings,
  )
  .map(([stretches, last, settleSeconds]) => ({
    settleSeconds,
    timeline: [...stretches, { state: last, minutes: (2 * settleSeconds) / MINUTE + 2 }].flatMap(
      ({ state, minutes }): Timeline => Array<MachineState | null>(minutes).fill(state),
    ),
  }));

type Step = Omit<Poll, 'minute'> & { gap: number };

/** Conditions of successive polls. */
export const steps = fc.array(
  fc.record<Step>({
    gap: fc.oneof(
      { weight: 5, arbitrary: fc.constant(1) },
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 200 }),
    ),
    jitter: fc.constantFrom(0, -1, 1),
    logLead: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(0, 1, -1, -2) },
      fc.integer({ min: -40, max: -3 }),
    ),
    isLogProvisional: fc.boolean(),
    isClipped: fc.boolean(),
    isShuffled: fc.boolean(),
    pageMinutes: fc.option(fc.integer({ min: 1, max: 30 })),
    isAfterRestart: fc.integer({ min: 0, max: 9 }).map((die) => die === 9),
    settlesLaterBySeconds: fc.constantFrom(0, 0, 300, 3600),
    state: fc.oneof(
      { weight: 12, arbitrary: fc.constant('answers' as const) },
      fc.constantFrom('fails' as const, 'noData' as const, 'removed' as const),
      fc.integer({ min: 1, max: 40 }),
    ),
    log: fc.oneof(
      { weight: 8, arbitrary: fc.constant('answers' as const) },
      { weight: 2, arbitrary: fc.constant('fails' as const) },
      fc.constantFrom<LogConduct>('forbidden', 'notFound', 'noData', 'empty'),
    ),
    diesAfter: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, fc.nat(3)),
  }),
  { maxLength: 60, size: 'max' },
);

const mistakes = fc.array(
  fc.record({
    minute: fc.oneof(fc.nat(20), fc.nat(200)),
    state: anyState,
    minutes: fc.integer({ min: 1, max: 60 }),
  }),
  { maxLength: 16, size: 'max' },
);

const updates = fc.record({
  isMinuteEnd: fc.boolean(),
  phaseSeconds: fc.integer({ min: 0, max: 59 }),
});

const options: fc.Arbitrary<WatchOptions> = fc.record({
  backfillOnFirstStartSeconds: fc.constantFrom(0, 0, 1800, 7200),
  clockAheadSeconds: fc.constantFrom(60, 600, -240),
  staleAfterSeconds: fc.constantFrom(300, 900, 86_400, 1, 60),
  hasOtherStates: fc.boolean(),
  isAmongOthers: fc.boolean(),
});

/** The last poll, by a new process, of a service that shows everything. */
export const LAST_POLL = {
  jitter: 0,
  logLead: 0,
  isLogProvisional: false,
  isClipped: true,
  isShuffled: false,
  pageMinutes: null,
  isAfterRestart: true,
  settlesLaterBySeconds: 0,
  state: 'answers',
  log: 'answers',
  diesAfter: null,
} as const;

function pollsWithin(timeline: Timeline, taken: readonly Step[]): Poll[] {
  let minute = -1;
  const polls = taken.map(({ gap, ...step }) => {
    minute = Math.max(0, minute + gap);
    return { ...step, minute };
  });
  const last = timeline.length - 1;
  return [...polls.filter((poll) => poll.minute <= last), { ...LAST_POLL, minute: last }];
}

/** Each change appears before its time is settled. */
function mistakesWithin(settleMinutes: number, timeline: Timeline, all: Mistake[]): Mistake[] {
  const end = timeline.length - settleMinutes - 2;
  return all
    .filter(({ minute }) => minute < end)
    .map((it) => ({ ...it, minutes: 1 + (it.minutes % (settleMinutes - 1)) }));
}

/** History of a machine and its polls; in the end the service shows everything. */
export interface Story {
  timeline: Timeline;
  mistakes: Mistake[];
  update: { isMinuteEnd: boolean; phaseSeconds: number };
  polls: Poll[];
  options: WatchOptions;
}

export const stories: fc.Arbitrary<Story> = fc
  .tuple(timelines, steps, mistakes, updates, options)
  .map(([{ timeline, settleSeconds }, taken, wrong, update, watchOptions]) => ({
    options: { ...watchOptions, settleSeconds },
    timeline,
    mistakes: mistakesWithin(settleSeconds / MINUTE, timeline, wrong),
    update,
    polls: pollsWithin(timeline, taken),
  }));

export function watched({ timeline, mistakes, update, options }: Story): WatchedMachine {
  const service = new SimulatedService(timeline, mistakes, update, options.settleSeconds);
  return new WatchedMachine(service, options);
}
