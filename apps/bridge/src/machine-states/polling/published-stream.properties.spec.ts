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
/** Time between two reads of a log. */
const LONGEST_PAUSE_MINUTES = 62;

/** Minutes for which the service hides a short period, if it does: mostly longer than it takes to settle. */
const hidings = fc.array(fc.option(fc.integer({ min: SETTLE_MINUTES, max: 60 })), {
  minLength: 5,
  maxLength: 30,
});

/** Changes that appear only after their time has been settled. */
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
  it('folds to the final states of the service, minute by minute', async () => {
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

  it('does so for a machine that is polled every minute, however its log lags or is refused', async () => {
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

  it('is continuous, repeats no event, and has no start later than the latest update of the service', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const machine = watched(story);
        for (const poll of story.polls) {
          const { published, again } = await machine.poll(poll);
          if (poll.diesAfter === null) expect(again.map(({ event }) => event.data)).toEqual([]);
          for (const { event } of published) {
            if (!('startTime' in event.data)) continue;
            expect(event.data.startTime).toBeLessThanOrEqual(machine.latestUpdateTime);
          }
        }
        expectContinuous(machine.events, machine.record);
      }),
      { numRuns: 2 * RUNS },
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

  it('books no minute for a state that no answer has for it, with or without a log', async () => {
    await fc.assert(
      fc.asyncProperty(stories, fc.option(unread), async (story, unreadLog) => {
        // Until the next state has settled, a settled one is booked up to the present one, as after a restart with a
        // longer SETTLE_SECONDS.
        const options = { ...story.options, settleSeconds: SETTLE_SECONDS };
        const machine = watched({ ...story, options, mistakes: [] });
        const vouched = new VouchedStates();
        for (const poll of story.polls) {
          // A log that lags by more than SETTLE_SECONDS is corrected once it is complete.
          const logLead = Math.max(poll.logLead, 1 - SETTLE_MINUTES);
          // For a machine that a replica restores, the time of its last reading is known to STALE_AFTER_SECONDS.
          const isReplica = typeof poll.state === 'number' && story.options.isAmongOthers === true;
          const state = isReplica ? 'answers' : poll.state;
          // Within a log that lags, it is unknown which states polls saw. Up to 200 events are committed together.
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

  it('begins with the wanted history, wherever the process dies', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const { timeline, polls, options } = story;
        const { backfillOnFirstStartSeconds = 0 } = options;
        const machine = watched({ ...story, mistakes: [] });
        for (const poll of polls) {
          // Time before a first state that is moved to a later start is not read again.
          const jitter = machine.events.length > 0 ? poll.jitter : Math.min(0, poll.jitter);
          await machine.poll({ ...poll, jitter });
        }
        const first = machine.events[0]?.event;
        if (first === undefined || !('detectedAt' in first.data)) return;
        const { detectedAt } = first.data;
        const isLost = first.type === STATE_EVENT_TYPES.observationLost;
        if (!isLost && backfillOnFirstStartSeconds === 0) return;
        const wanted = detectedAt - (isLost ? 0 : backfillOnFirstStartSeconds);
        // the log may have the first start later by this much
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
          // Readings that wait for a log that fails are not published, and do not count before.
          const log = poll.log === 'fails' ? 'forbidden' : poll.log;
          // If a replica shows a machine first, the others have seen it later.
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

  describe('after a story that a random run has found', () => {
    const minutes = (state: MachineState | null, count: number): Timeline =>
      Array<MachineState | null>(count).fill(state);

    /** Like the last poll of a story, with these changes. */
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

    it('books no time of a loss, even if the process died amid the missed periods and others continued', async () => {
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

    it('covers the time since the machine was listed, even if the process died once it was restored', async () => {
      const timeline = [...minutes(null, 3), ...minutes('OPERATING', 4), ...minutes('IDLE', 12)];
      const rows = await rowsAfter(timeline, {}, { minute: 1 }, { minute: 12, diesAfter: 1 });
      expect(wholeTimeline(rows, timeline.length)).toEqual(timeline);
    });

    it('has the wanted history, even if the log showed it before it was settled', async () => {
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

    it('books no minutes without data after a state that a late log has before the same state was seen', async () => {
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

    it('corrects the start of the first period if the log ended before it', async () => {
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

    it('books no minutes without data between late history and the first period', async () => {
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

    it('books no minutes beyond the end of a log that lags, in place of observed states', async () => {
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

  it('has a state between two polls even if the log shows it minutes later', async () => {
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

  it('reads few logs if the duration does not grow', async () => {
    const timeline: Timeline = Array<MachineState>(600).fill('OPERATING');
    const service = new SimulatedService(timeline, [], { isMinuteEnd: true, phaseSeconds: 17 });
    const machine = new WatchedMachine(service);
    for (const minute of timeline.keys()) {
      await machine.poll({ ...LAST_POLL, isAfterRestart: false, minute, jitter: -timeline.length });
    }
    expect(machine.logReads).toBeLessThanOrEqual(4);
  });

  it('reads no log while a state lasts, except one to confirm its start', async () => {
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
