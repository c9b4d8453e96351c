import fc from 'fast-check';
import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import {
  bookedTimeline,
  lastingTimeline,
  latestVersions,
  minuteOf,
} from './testing/folded-stream.js';
import {
  type Mistake,
  SETTLE_SECONDS,
  SimulatedService,
  MINUTE,
  type Timeline,
} from './testing/simulated-service.js';
import { type Poll, WatchedMachine, type WatchOptions } from './testing/watched-machine.js';

const RUNS = 300;
const SETTLE_MINUTES = SETTLE_SECONDS / MINUTE;

const anyState = fc.constantFrom(...MACHINE_STATES, null);

/** Ends in a state that lasts until all is settled. */
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
      { maxLength: 30 },
    ),
    fc.constantFrom(...MACHINE_STATES),
  )
  .map(([stretches, last]) =>
    [...stretches, { state: last, minutes: 2 * SETTLE_MINUTES + 2 }].flatMap(
      ({ state, minutes }): Timeline => Array<MachineState | null>(minutes).fill(state),
    ),
  );

type Step = Omit<Poll, 'minute'> & { gap: number };

const steps = fc.array(
  fc.record<Step>({
    gap: fc.oneof(
      { weight: 5, arbitrary: fc.constant(1) },
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 200 }),
    ),
    jitter: fc.constantFrom(0, -1, 1),
    logLead: fc.constantFrom(0, 1, -1, -2),
    isClipped: fc.boolean(),
    isShuffled: fc.boolean(),
    isAfterRestart: fc.integer({ min: 0, max: 9 }).map((die) => die === 9),
    log: fc.oneof(
      { weight: 8, arbitrary: fc.constant('answers' as const) },
      fc.constantFrom('isWaitedFor' as const, 'isDoneWithout' as const),
    ),
    diesAfter: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, fc.nat(3)),
  }),
  { maxLength: 60 },
);

const mistakes = fc.array(
  fc.record({
    minute: fc.oneof(fc.nat(20), fc.nat(200)),
    state: anyState,
    minutes: fc.integer({ min: 1, max: SETTLE_MINUTES - 1 }),
  }),
  { maxLength: 16 },
);

const updates = fc.record({
  isMinuteEnd: fc.boolean(),
  phaseSeconds: fc.integer({ min: 0, max: 59 }),
});

const options: fc.Arbitrary<WatchOptions> = fc.record({
  backfillOnFirstStartSeconds: fc.constantFrom(0, 0, 1800, 7200),
  clockAheadSeconds: fc.constantFrom(60, 600, -600),
  staleAfterSeconds: fc.constantFrom(Infinity, 300),
});

const LAST_POLL = {
  jitter: 0,
  logLead: 0,
  isClipped: true,
  isShuffled: false,
  isAfterRestart: true,
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

interface Story {
  timeline: Timeline;
  mistakes: Mistake[];
  update: { isMinuteEnd: boolean; phaseSeconds: number };
  polls: Poll[];
  options: WatchOptions;
}

const stories: fc.Arbitrary<Story> = fc
  .tuple(timelines, steps, mistakes, updates, options)
  .map(([timeline, taken, wrong, update, watchOptions]) => ({
    options: watchOptions,
    timeline,
    mistakes: wrong.filter(({ minute }) => minute < timeline.length - SETTLE_MINUTES - 2),
    update,
    polls: pollsWithin(timeline, taken),
  }));

function watched(
  { timeline, mistakes, update }: Story,
  options: WatchOptions = {},
): WatchedMachine {
  return new WatchedMachine(new SimulatedService(timeline, mistakes, update), options);
}

describe('the published stream', () => {
  it('folds to what the service finally says, minute by minute', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const { timeline, polls } = story;
        const machine = watched(story);
        for (const poll of polls) machine.poll(poll);
        const versions = latestVersions(machine.events);
        const first = Math.min(...versions.map((it) => minuteOf(it.startTime)));
        const truth = timeline.slice(first);
        expect(bookedTimeline(versions, timeline.length).slice(first)).toEqual(truth);
        const lasting = lastingTimeline(versions, timeline.length).slice(first);
        expect(lasting.map((it, minute) => truth[minute] && it)).toEqual(truth);
      }),
      { numRuns: RUNS },
    );
  });

  it('does so by itself for a machine that is polled every minute, and whose log only lags', () => {
    fc.assert(
      fc.property(stories, steps, (story, conditions) => {
        const { timeline } = story;
        const machine = watched({ ...story, mistakes: [] });
        for (const minute of timeline.keys()) {
          const step = conditions[minute % conditions.length] ?? LAST_POLL;
          machine.poll({ ...step, isAfterRestart: false, log: 'answers', diesAfter: null, minute });
        }
        const versions = latestVersions(machine.events);
        const first = Math.min(...versions.map((it) => minuteOf(it.startTime)));
        expect(bookedTimeline(versions, timeline.length).slice(first)).toEqual(
          timeline.slice(first),
        );
      }),
      { numRuns: RUNS },
    );
  });

  it('counts from 1 without gaps, and says nothing twice', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const machine = watched(story);
        for (const poll of story.polls) {
          expect(machine.poll(poll).again.map(({ event }) => event.data)).toEqual([]);
        }
        const { events } = machine;
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
        expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      }),
      { numRuns: RUNS },
    );
  });

  it('names no start later than what the service has seen', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const machine = watched(story);
        for (const poll of story.polls) {
          for (const { event } of machine.poll(poll).published) {
            if (!('startTime' in event.data)) continue;
            expect(event.data.startTime).toBeLessThanOrEqual(machine.latestUpdateTime);
          }
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('costs no log while a state lasts, but one to confirm its start', () => {
    const timeline: Timeline = Array<MachineState>(120).fill('OPERATING');
    const service = new SimulatedService(timeline, [], { isMinuteEnd: true, phaseSeconds: 17 });
    const machine = new WatchedMachine(service);
    for (const minute of timeline.keys()) {
      const jitter = (minute % 3) - 1;
      machine.poll({ ...LAST_POLL, isAfterRestart: false, minute, jitter });
    }
    expect(machine.logReads).toBe(2);
  });
});
