import fc from 'fast-check';
import { type MachineState, STATE_EVENT_TYPES, type StateChanged } from '#libs/contracts';
import { START_TOLERANCE_SECONDS } from '../derivation/activity-log.js';
import {
  bookedTimeline,
  booksTime,
  expectContinuous,
  lastingTimeline,
  latestVersions,
  minuteOf,
  VouchedStates,
  wholeTimeline,
} from './testing/folded-stream.js';
import {
  MINUTE,
  type Mistake,
  SETTLE_SECONDS,
  SimulatedService,
  type Timeline,
} from './testing/simulated-service.js';
import { LAST_POLL, SETTLE_MINUTES, steps, stories, watched } from './testing/stories.js';
import {
  type LogConduct,
  type Poll,
  WatchedMachine,
  type WatchOptions,
} from './testing/watched-machine.js';

/** Stories of each property; `npm run test:rest` runs ten times as many. */
const RUNS = 30 * Number(process.env.PROPERTY_DEPTH ?? 1);
/** Between two times that a log is asked for. */
const LONGEST_PAUSE_MINUTES = 62;

/** For how many minutes the service does not show a short period, if it hides it: mostly longer than it takes to settle. */
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

  it('books no minute for a state that no answer has for it, whether a log is to be had or not', async () => {
    await fc.assert(
      fc.asyncProperty(stories, fc.option(unread), async (story, unreadLog) => {
        // Until the next state has settled, one that has settled is booked up to the present one, as after a restart with a
        // longer SETTLE_SECONDS.
        const options = { ...story.options, settleSeconds: SETTLE_SECONDS };
        const machine = watched({ ...story, options, mistakes: [] });
        const vouched = new VouchedStates();
        for (const poll of story.polls) {
          // What a log says that lags by more than it takes to settle is corrected once it is complete.
          const logLead = Math.max(poll.logLead, 1 - SETTLE_MINUTES);
          // Of a machine that a replica restores, it is known to STALE_AFTER_SECONDS until when it was seen.
          const isReplica = typeof poll.state === 'number' && story.options.isAmongOthers === true;
          const state = isReplica ? 'answers' : poll.state;
          // Amid what a log that lags has, it is not known which of the states were seen. Up to 200 events go together.
          const diesAfter = unreadLog === null ? null : poll.diesAfter;
          const answers = { logLead, state, log: unreadLog ?? poll.log };
          await machine.poll({ ...poll, ...answers, diesAfter, settlesLaterBySeconds: 0 });
          vouched.take(machine.readings.splice(0), machine.logEntries.splice(0));
          const booked = bookedTimeline(latestVersions(machine.events), story.timeline.length);
          expect(vouched.invented(booked)).toEqual([]);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('begins with the history that is wanted, wherever the process dies', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const { timeline, polls, options } = story;
        const { backfillOnFirstStartSeconds = 0 } = options;
        const machine = watched({ ...story, mistakes: [] });
        for (const poll of polls) {
          // What comes before a first state that had begun later than it said at first is not looked for again.
          const jitter = machine.events.length > 0 ? poll.jitter : Math.min(0, poll.jitter);
          await machine.poll({ ...poll, jitter });
        }
        const first = machine.events[0]?.event;
        if (first === undefined || !('detectedAt' in first.data)) return;
        const { detectedAt } = first.data;
        const isLost = first.type === STATE_EVENT_TYPES.observationLost;
        if (!isLost && backfillOnFirstStartSeconds === 0) return;
        const wanted = detectedAt - (isLost ? 0 : backfillOnFirstStartSeconds);
        // so much later the log may have the first start
        const from = Math.max(0, minuteOf(wanted + START_TOLERANCE_SECONDS));
        const whole = wholeTimeline(latestVersions(machine.events), timeline.length);
        expect(whole.slice(from)).toEqual(timeline.slice(from));
      }),
      { numRuns: RUNS },
    );
  });

  it('reports a loss since the latest update, or after a restart earlier by twice STALE_AFTER_SECONDS at most', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const { staleAfterSeconds = 0 } = story.options;
        const machine = watched(story);
        let isObserved = false;
        let mayBeEarly = false;
        for (const poll of story.polls) {
          mayBeEarly ||= poll.isAfterRestart;
          // What waits for a log that fails is not published, and counts from then on.
          const log = poll.log === 'fails' ? 'forbidden' : poll.log;
          // Of a machine that a replica shows first, the others have been seen later.
          const state = typeof poll.state === 'number' ? 'answers' : poll.state;
          const { published } = await machine.poll({ ...poll, log, state, diesAfter: null });
          const { latestUpdateTime, record } = machine;
          for (const { event } of published) {
            if (event.type !== STATE_EVENT_TYPES.observationLost || !isObserved) continue;
            const earlySeconds = mayBeEarly ? 2 * staleAfterSeconds + MINUTE : 0;
            expect(event.data.since).toBeLessThanOrEqual(latestUpdateTime);
            expect(event.data.since).toBeGreaterThanOrEqual(latestUpdateTime - earlySeconds);
          }
          isObserved = record?.observation === 'ok' && record.lastUpdateTime !== null;
          if (machine.readings.splice(0).length > 0) mayBeEarly = false;
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('has each row continue the one before, and the record show the latest', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const machine = watched(story);
        for (const poll of story.polls) await machine.poll(poll);
        expectContinuous(machine.events, machine.record);
      }),
      { numRuns: RUNS },
    );
  });

  describe('after a story that a random one has told', () => {
    const minutes = (state: MachineState | null, count: number): Timeline =>
      Array<MachineState | null>(count).fill(state);

    /** Polled as in the last poll of a story, but for what is said. */
    async function rowsAfter(
      timeline: Timeline,
      options: WatchOptions,
      ...polls: (Partial<Poll> & { minute: number })[]
    ): Promise<StateChanged[]> {
      const service = new SimulatedService(timeline, [], { isMinuteEnd: false, phaseSeconds: 0 });
      const machine = new WatchedMachine(service, options);
      for (const poll of polls)
        await machine.poll({ ...LAST_POLL, isAfterRestart: false, ...poll });
      return latestVersions(machine.events);
    }

    it('books nothing of a loss, though the process died amid what it had missed, and others went on', async () => {
      const timeline = [...minutes('OPERATING', 5), ...minutes(null, 60), ...minutes('OFF', 5)];
      const log = 'forbidden';
      const rows = await rowsAfter(
        timeline,
        { isAmongOthers: true },
        { minute: 4, log },
        { minute: 60, log },
        { minute: 65, log, diesAfter: 1 },
      );
      expect(bookedTimeline(rows, 65)).toEqual([...minutes('OPERATING', 4), ...minutes(null, 61)]);
    });

    it('has all since the machine was listed, though the process died once it was restored', async () => {
      const timeline = [...minutes(null, 3), ...minutes('OPERATING', 4), ...minutes('IDLE', 12)];
      const rows = await rowsAfter(timeline, {}, { minute: 1 }, { minute: 12, diesAfter: 1 });
      expect(wholeTimeline(rows, timeline.length)).toEqual(timeline);
    });

    it('has the history that is wanted, though the log showed it before it was settled', async () => {
      const timeline = [...minutes('OPERATING', 1), ...minutes('OFF', 12)];
      const history = { backfillOnFirstStartSeconds: 7200 };
      const rows = await rowsAfter(
        timeline,
        history,
        { minute: 1, logLead: -3 },
        { minute: 2 },
        { minute: 12 },
      );
      expect(wholeTimeline(rows, timeline.length)).toEqual(timeline);
    });

    it('books no minutes without data after a state that a late log has before the one of the same kind that was seen', async () => {
      const timeline = [
        ...minutes('OPERATING', 1),
        ...minutes('OFF', 2),
        ...minutes(null, 8),
        ...minutes('OFF', 1),
        ...minutes('OPERATING', 1),
      ];
      const rows = await rowsAfter(
        timeline,
        {},
        { minute: 0 },
        { minute: 3 },
        { minute: 11, log: 'forbidden' },
        { minute: 12, logLead: -2 },
      );
      expect(bookedTimeline(rows, 11).slice(3)).toEqual(minutes(null, 8));
    });

    it('corrects the start of the first period where the log ended before it', async () => {
      const timeline = [
        ...minutes('OPERATING', 64),
        ...minutes('OFF', 30),
        ...minutes('OPERATING', 12),
      ];
      const first = { minute: 93, jitter: 1, logLead: -30 };
      const rows = await rowsAfter(timeline, {}, first, { minute: 105 });
      expect(wholeTimeline(rows, 106).slice(64)).toEqual(timeline.slice(64));
      expect(minuteOf(Math.min(...rows.map(({ startTime }) => startTime)))).toBe(64);
    });

    it('books no minutes without data between history that came late and the first period', async () => {
      const timeline = [
        ...minutes('OPERATING', 2),
        ...minutes(null, 16),
        ...minutes('OPERATING', 5),
      ];
      const history = { backfillOnFirstStartSeconds: 1800 };
      const rows = await rowsAfter(
        timeline,
        history,
        { minute: 21, log: 'noData' },
        { minute: 22, logLead: -3 },
      );
      expect(wholeTimeline(rows, timeline.length)).toEqual(timeline);
    });

    it('books no minutes beyond the end of a log that lags, in place of what was seen', async () => {
      const timeline = [
        ...minutes('OPERATING', 1),
        ...minutes('OFF', 6),
        ...minutes('OPERATING', 13),
      ];
      const rows = await rowsAfter(
        timeline,
        {},
        { minute: 0 },
        { minute: 18, log: 'forbidden' },
        { minute: 19, logLead: -18 },
      );
      const booked = [...minutes('OPERATING', 1), ...minutes('OFF', 1), ...minutes(null, 5)];
      expect(bookedTimeline(rows, 7)).toEqual(booked);
    });
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
