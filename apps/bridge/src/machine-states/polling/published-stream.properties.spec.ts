import fc from 'fast-check';
import type { MachineState, StateChanged } from '#libs/contracts';
import {
  bookedTimeline,
  lastingTimeline,
  latestVersions,
  minuteOf,
  wholeTimeline,
} from './testing/folded-stream.js';
import { type Mistake, SimulatedService, type Timeline } from './testing/simulated-service.js';
import { LAST_POLL, SETTLE_MINUTES, steps, stories, watched } from './testing/stories.js';
import { type LogConduct, WatchedMachine } from './testing/watched-machine.js';

/** Stories of each property; `npm run test:rest` runs ten times as many. */
const RUNS = 30 * Number(process.env.PROPERTY_DEPTH ?? 1);
/** Between two times that a log is asked for. */
const LONGEST_PAUSE_MINUTES = 62;

/** For how many minutes the service does not show a short period, if it hides it: longer than it takes to settle. */
const hidings = fc.array(fc.option(fc.integer({ min: SETTLE_MINUTES, max: 60 })), {
  minLength: 5,
  maxLength: 30,
});

/** What comes to light only after the time that it is of has been settled. */
function lateMistakes(timeline: Timeline, hiding: readonly (number | null)[]): Mistake[] {
  let state = timeline[0] ?? null;
  return timeline.flatMap((actual, minute): Mistake[] => {
    const isShort = timeline.slice(minute, minute + SHORT_MINUTES).some((it) => it === state);
    const minutes = actual === state ? null : (hiding[minute % hiding.length] ?? null);
    if (isShort && minutes !== null) return [{ minute, state, minutes }];
    state = actual;
    return [];
  });
}

const SHORT_MINUTES = 5;

const unread = fc.constantFrom<LogConduct>('fails', 'forbidden', 'notFound', 'noData', 'empty');

/** As far as a start may be off, and a poll that fails. */
const TOLERATED_MINUTES = 3;

/** A row that has become one with the one before it does not. */
function booksTime({ startTime, previousStartTime, previousEndTime }: StateChanged): boolean {
  return (previousEndTime ?? startTime) !== previousStartTime;
}

describe('the published stream', () => {
  it('folds to what the service finally says, minute by minute', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const { timeline, polls } = story;
        const machine = watched(story);
        for (const poll of polls) await machine.poll(poll);
        const versions = latestVersions(machine.events);
        const first = Math.min(...versions.map((it) => minuteOf(it.startTime)));
        const truth = timeline.slice(first);
        expect(wholeTimeline(versions, timeline.length).slice(first)).toEqual(truth);
        const lasting = lastingTimeline(versions, timeline.length).slice(first);
        expect(lasting.map((it, minute) => truth[minute] && it)).toEqual(truth);
      }),
      { numRuns: RUNS },
    );
  });

  it('does so by itself for a machine that is polled every minute, however its log lags or is refused', async () => {
    await fc.assert(
      fc.asyncProperty(stories, steps, async (story, conditions) => {
        const timeline = [
          ...story.timeline,
          ...Array<MachineState | null>(LONGEST_PAUSE_MINUTES).fill(story.timeline.at(-1) ?? null),
        ];
        const machine = watched({ ...story, timeline, mistakes: [] });
        for (const minute of timeline.keys()) {
          const isOver = minute >= story.timeline.length;
          const step = isOver ? LAST_POLL : (conditions[minute % conditions.length] ?? LAST_POLL);
          await machine.poll({ ...step, isAfterRestart: false, diesAfter: null, minute });
        }
        const versions = latestVersions(machine.events);
        const first = Math.min(...versions.map((it) => minuteOf(it.startTime)));
        expect(wholeTimeline(versions, timeline.length).slice(first)).toEqual(
          timeline.slice(first),
        );
      }),
      { numRuns: RUNS / 3 },
    );
  });

  it('counts from 1 without gaps, and says nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const machine = watched(story);
        for (const poll of story.polls) {
          const { again } = await machine.poll(poll);
          if (poll.diesAfter === null) expect(again.map(({ event }) => event.data)).toEqual([]);
        }
        const { events } = machine;
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
        expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      }),
      { numRuns: RUNS },
    );
  });

  it('names no start later than what the service has seen', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const machine = watched(story);
        for (const poll of story.polls) {
          for (const { event } of (await machine.poll(poll)).published) {
            if (!('startTime' in event.data)) continue;
            expect(event.data.startTime).toBeLessThanOrEqual(machine.latestUpdateTime);
          }
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('changes nothing that began before settledUntil, however late the service rewrites its log', async () => {
    await fc.assert(
      fc.asyncProperty(stories, hidings, async (story, hiding) => {
        const mistakes = [...story.mistakes, ...lateMistakes(story.timeline, hiding)];
        const machine = watched({ ...story, mistakes });
        let settled: StateChanged[] = [];
        let settledUntil = -Infinity;
        for (const poll of story.polls) {
          await machine.poll(poll);
          const rows = latestVersions(machine.events).filter(booksTime);
          expect(rows.filter(({ startTime }) => startTime < settledUntil)).toEqual(settled);
          settledUntil = machine.record?.settledUntil ?? -Infinity;
          settled = rows.filter(({ startTime }) => startTime < settledUntil);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('books no minute that neither the state nor its duration vouches for, where no log is to be had', async () => {
    await fc.assert(
      fc.asyncProperty(stories, unread, async (story, log) => {
        const { timeline, polls } = story;
        const machine = watched({ ...story, mistakes: [] });
        const vouched = new Set<number>();
        for (const poll of polls) {
          await machine.poll({ ...poll, log });
          for (const reading of machine.readings.splice(0)) {
            const minute = minuteOf(reading.lastUpdateTime);
            const first = minute - reading.durationInMinutes - TOLERATED_MINUTES;
            for (let at = first; at <= minute + TOLERATED_MINUTES; at += 1) vouched.add(at);
          }
        }
        const booked = bookedTimeline(latestVersions(machine.events), timeline.length);
        const invented = [...booked.entries()].filter(
          ([minute, state]) => state !== null && !vouched.has(minute),
        );
        expect(invented).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('has a state between two polls by itself, though the log shows it minutes later', async () => {
    const operating = Array<MachineState>(60).fill('OPERATING');
    const timeline: Timeline = [...operating, 'IDLE', ...operating];
    const service = new SimulatedService(timeline, [], { isMinuteEnd: true, phaseSeconds: 17 });
    const machine = new WatchedMachine(service);
    for (const minute of timeline.keys()) {
      const state = minute === operating.length ? 'fails' : 'answers';
      const log = { logLead: 1 - SETTLE_MINUTES, isLogProvisional: true };
      await machine.poll({ ...LAST_POLL, ...log, isAfterRestart: false, minute, state });
    }
    const versions = latestVersions(machine.events);
    expect(wholeTimeline(versions, timeline.length)).toEqual(timeline);
  });

  it('costs few logs where the duration does not grow', async () => {
    const timeline: Timeline = Array<MachineState>(600).fill('OPERATING');
    const service = new SimulatedService(timeline, [], { isMinuteEnd: true, phaseSeconds: 17 });
    const machine = new WatchedMachine(service);
    for (const minute of timeline.keys()) {
      await machine.poll({ ...LAST_POLL, isAfterRestart: false, minute, jitter: -timeline.length });
    }
    expect(machine.logReads).toBeLessThanOrEqual(4);
  });

  it('costs no log while a state lasts, but one to confirm its start', async () => {
    const timeline: Timeline = Array<MachineState>(120).fill('OPERATING');
    const service = new SimulatedService(timeline, [], { isMinuteEnd: true, phaseSeconds: 17 });
    const machine = new WatchedMachine(service);
    for (const minute of timeline.keys()) {
      const jitter = (minute % 3) - 1;
      await machine.poll({ ...LAST_POLL, isAfterRestart: false, minute, jitter });
    }
    expect(machine.logReads).toBe(2);
  });
});
