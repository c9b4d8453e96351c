import fc from 'fast-check';
import { MACHINE_STATES, type MachineState, STATE_EVENT_TYPES } from '#libs/contracts';
import { activityLogNeed, knownAfter } from './activity-log-need.js';
import { deriveStateChanges, type Sighting } from './derive-state-changes.js';
import { type ActivityLog } from './new-periods.js';
import { parseTrackedMachine } from './parse-tracked-machine.js';
import { type SequencedEvent } from './sequenced-event.js';
import { type TrackedMachine } from './tracked-machine.js';

const MINUTE = 60;
const T0 = 1_763_680_020;
const MACHINE = { machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };
const CONTEXT = { now: T0, staleAfterSeconds: Infinity };

/** What was true in each minute; null is no data. */
type Timeline = (MachineState | null)[];

interface Run {
  state: MachineState;
  firstMinute: number;
  lastMinute: number;
}

interface Poll {
  /** The latest minute the service has calculated. */
  minute: number;
  jitter: number;
  isAfterRestart: boolean;
  /** Minutes the log knows beyond the reading; negative when it lags behind. */
  logLead: number;
}

/** Whether the time of an update is the beginning or the end of the minute it is about. */
type UpdateTime = 'minute begin' | 'minute end';

function runsOf(timeline: Timeline): Run[] {
  const runs: Run[] = [];
  for (const [minute, state] of timeline.entries()) {
    const last = runs.at(-1);
    if (state === null) continue;
    if (last?.state === state && last.lastMinute === minute - 1) last.lastMinute = minute;
    else runs.push({ state, firstMinute: minute, lastMinute: minute });
  }
  return runs;
}

const timeOf = (minute: number): number => T0 + minute * MINUTE;

function readLog(timeline: Timeline, from: number, poll: Poll): ActivityLog {
  const known = timeline.slice(0, poll.minute + poll.logLead + 1);
  const entries = runsOf(known)
    .map(({ state, firstMinute, lastMinute }) => ({
      state,
      startTime: Math.max(timeOf(firstMinute), from),
      endTime: timeOf(lastMinute + 1),
      durationInMinutes: 0,
    }))
    .filter(({ startTime, endTime }) => endTime > startTime);
  return { from, entries };
}

/** Polls a service that has this history, and returns everything that would be published. */
function publish(timeline: Timeline, polls: readonly Poll[], updateTime: UpdateTime) {
  const events: SequencedEvent[] = [];
  let tracked: TrackedMachine | undefined;
  let knownUntil: number | null = null;
  for (const poll of polls) {
    if (poll.isAfterRestart) {
      knownUntil = null;
      tracked = tracked && parseTrackedMachine(JSON.parse(JSON.stringify(tracked)));
    }
    const run = runsOf(timeline.slice(0, poll.minute + 1)).at(-1);
    let sighting: Sighting = { kind: 'lost', reason: 'noData' };
    if (run?.lastMinute === poll.minute) {
      const lastUpdateTime = timeOf(poll.minute) + (updateTime === 'minute end' ? MINUTE : 0);
      const minutes = (lastUpdateTime - timeOf(run.firstMinute)) / MINUTE;
      const durationInMinutes = Math.max(0, minutes + poll.jitter);
      const reading = { state: run.state, durationInMinutes, lastUpdateTime };
      const from = activityLogNeed(tracked, reading, knownUntil);
      const log = from === null ? null : readLog(timeline, from, poll);
      sighting = { kind: 'reading', reading, log };
      knownUntil = Math.max(knownUntil ?? 0, knownAfter(reading, log));
    }
    const derivation = deriveStateChanges(MACHINE, tracked, sighting, CONTEXT);
    events.push(...derivation.events);
    tracked = derivation.next;
  }
  return events;
}

const timelines = fc
  .array(
    fc.record({
      state: fc.constantFrom(...MACHINE_STATES, null),
      minutes: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 90 })),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .map((stretches) =>
    stretches.flatMap(({ state, minutes }): Timeline =>
      Array<MachineState | null>(minutes).fill(state),
    ),
  );

const pollings = fc.array(
  fc.record({
    gap: fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 200 }),
    ),
    jitter: fc.constantFrom(-1, 0, 1),
    isAfterRestart: fc.integer({ min: 0, max: 9 }).map((die) => die === 0),
    logLead: fc.constantFrom(0, 1),
  }),
  { minLength: 1, maxLength: 60 },
);

function pollsWithin(
  timeline: Timeline,
  steps: readonly (Omit<Poll, 'minute'> & { gap: number })[],
) {
  let minute = -1;
  return steps
    .map(({ gap, ...step }) => ({ ...step, minute: (minute = Math.max(0, minute + gap)) }))
    .filter((poll) => poll.minute < timeline.length);
}

const updateTimes = fc.constantFrom<UpdateTime>('minute begin', 'minute end');

describe('the published stream', () => {
  it('is the history of the machine, whenever and however unsteadily it is polled', () => {
    fc.assert(
      fc.property(timelines, pollings, updateTimes, (timeline, steps, updateTime) => {
        const polls = pollsWithin(timeline, steps);
        const answered = polls.filter(({ minute }) => timeline[minute] !== null);
        const first = answered[0]?.minute ?? Infinity;
        const last = answered.at(-1)?.minute ?? -1;
        const expected = runsOf(timeline)
          .filter(({ firstMinute, lastMinute }) => lastMinute >= first && firstMinute <= last)
          .map(({ state, firstMinute }) => ({ state, startTime: timeOf(firstMinute) }));
        const published = publish(timeline, polls, updateTime).flatMap(({ event }) =>
          event.type === STATE_EVENT_TYPES.changed ? [event.data] : [],
        );
        expect(published.map(({ state, startTime }) => ({ state, startTime }))).toEqual(expected);
        expect(published.slice(1).map((it) => it.previousStartTime)).toEqual(
          expected.slice(0, -1).map(({ startTime }) => startTime),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('counts from 1 without gaps, with an id for each event', () => {
    fc.assert(
      fc.property(timelines, pollings, updateTimes, (timeline, steps, updateTime) => {
        const events = publish(timeline, pollsWithin(timeline, steps), updateTime);
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
        expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      }),
    );
  });

  it('stays in order and ends in the present state when the log lags by up to two minutes', () => {
    const lags = fc.array(fc.integer({ min: -2, max: 1 }), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(timelines, pollings, lags, (timeline, steps, lagging) => {
        const polls = pollsWithin(timeline, steps).map((poll, index) => ({
          ...poll,
          logLead: lagging[index] ?? 0,
        }));
        const published = publish(timeline, polls, 'minute end').flatMap(({ event }) =>
          event.type === STATE_EVENT_TYPES.changed ? [event.data] : [],
        );
        const starts = published.map(({ startTime }) => startTime);
        expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
        const last = polls.findLast(({ minute }) => timeline[minute] !== null);
        expect(published.at(-1)?.state).toBe(last && timeline[last.minute]);
      }),
      { numRuns: 1000 },
    );
  });

  it('tells of a loss once, and of the return before the changes that were missed', () => {
    const timeline: Timeline = ['OFF', 'OFF', null, null, 'IDLE', 'OPERATING'];
    const polls = timeline.map((_, minute) => ({
      minute,
      jitter: 0,
      isAfterRestart: minute === 3,
      logLead: 0,
    }));
    const skipping = polls.filter(({ minute }) => minute !== 4);
    expect(publish(timeline, skipping, 'minute end').map(({ event }) => event.type)).toEqual([
      STATE_EVENT_TYPES.changed,
      STATE_EVENT_TYPES.observationLost,
      STATE_EVENT_TYPES.observationRestored,
      STATE_EVENT_TYPES.changed,
      STATE_EVENT_TYPES.changed,
    ]);
  });

  it('asks for no log while a state lasts and is polled every minute', () => {
    const timeline: Timeline = Array<MachineState>(120).fill('OPERATING');
    let asked = 0;
    let tracked: TrackedMachine | undefined;
    let knownUntil: number | null = null;
    for (const minute of timeline.keys()) {
      const jitter = (minute % 3) - 1;
      const reading = {
        state: 'OPERATING' as const,
        durationInMinutes: Math.max(0, minute + 1 + jitter),
        lastUpdateTime: timeOf(minute + 1),
      };
      const from = activityLogNeed(tracked, reading, knownUntil);
      asked += from === null ? 0 : 1;
      const poll = { minute, jitter, isAfterRestart: false, logLead: 0 };
      const log = from === null ? null : readLog(timeline, from, poll);
      knownUntil = knownAfter(reading, log);
      tracked = deriveStateChanges(
        MACHINE,
        tracked,
        { kind: 'reading', reading, log },
        CONTEXT,
      ).next;
    }
    expect(asked).toBe(1);
  });
});
