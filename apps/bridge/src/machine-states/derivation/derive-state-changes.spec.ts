import { STATE_EVENT_TYPES, stateChangeId, type StateChanged } from '#libs/contracts';
import type { MachineStateReading } from '#libs/cloud-client';
import { deriveStateChanges, type PollResult, type Derivation } from './derive-state-changes.js';
import type { TrackedMachine } from './tracked-machine.js';
import type { ActivityLog } from './activity-log.js';
import {
  at,
  entriesOf,
  MACHINE,
  minuteOf,
  published,
  readingOf,
  type Stretch,
} from './testing/tracked-periods.js';

const T0 = 1_763_680_000;
const OF_MACHINE = { machineId: 'M-1', factoryId: 'F-1' };

const operating = (lastUpdateTime: number, durationInMinutes = 10): PollResult => ({
  kind: 'reading',
  reading: { state: 'OPERATING', durationInMinutes, lastUpdateTime },
  log: null,
});

const lost = (
  reason: 'noData' | 'forbidden' | 'unreachable' | 'stale' | 'removed',
): PollResult => ({ ...{ kind: 'lost', reason } });

interface Polled {
  /** Type and data of each event. */
  events: { type: string; data: object }[];
  next: TrackedMachine;
}

/** A poll this many seconds after T0. */
function poll(
  before: TrackedMachine | undefined,
  seconds: number,
  result: PollResult,
  { machine = MACHINE, ...more }: { machine?: typeof MACHINE; updateSeenAt?: number } = {},
): Polled {
  const context = { now: T0 + seconds, staleAfterSeconds: 300, settleSeconds: 300, ...more };
  const { events, next } = deriveStateChanges(machine, before, result, context);
  return { events: events.map(({ event }) => event), next };
}

const observed = (): TrackedMachine => poll(undefined, 90, operating(T0)).next;
const withoutData = (): TrackedMachine => poll(observed(), 200, lost('noData')).next;

describe('deriveStateChanges', () => {
  it('publishes the first observation without a previous state', () => {
    const context = { now: T0 + 90, staleAfterSeconds: 300, settleSeconds: 300 };
    const { events, next } = deriveStateChanges(MACHINE, undefined, operating(T0), context);
    const id = stateChangeId('M-1', T0 - 600, 'OPERATING', 0);
    expect(events).toEqual([
      {
        id,
        time: T0 - 600,
        sequence: 1,
        event: {
          type: STATE_EVENT_TYPES.changed,
          data: {
            ...OF_MACHINE,
            state: 'OPERATING',
            previousState: null,
            startTime: T0 - 600,
            previousStartTime: null,
            detectedAt: T0 + 90,
            revision: 0,
            startTimeSource: 'duration',
          },
        },
        after: { ...next, lastUpdateTime: null },
      },
    ]);
    expect(next).toMatchObject({ observation: 'ok', lastUpdateTime: T0, sequence: 1 });
  });

  it('begins no state before 1970, whatever the service says of its duration', () => {
    for (const minutes of [2 ** 31 - 1, Number.MAX_SAFE_INTEGER, 1e300]) {
      const { events } = poll(undefined, 90, operating(T0, minutes));
      expect(events).toMatchObject([{ data: { state: 'OPERATING', startTime: 0 } }]);
    }
  });

  it('reports the loss of an observed machine once, since its latest update', () => {
    const { events, next } = poll(observed(), 200, lost('noData'));
    const when = { since: T0, detectedAt: T0 + 200 };
    expect(events).toEqual([
      {
        type: STATE_EVENT_TYPES.observationLost,
        data: { ...OF_MACHINE, ...when, reason: 'noData', lastState: 'OPERATING' },
      },
    ]);
    expect(poll(next, 260, lost('noData')).events).toEqual([]);
  });

  it('reports a machine that never had data as lost, with no state', () => {
    const { events, next } = poll(undefined, 0, lost('noData'));
    expect(events).toMatchObject([{ data: { reason: 'noData', since: T0, lastState: null } }]);
    expect(next).toMatchObject({ periods: [], observation: 'noData' });
  });

  it.each(['forbidden', 'unreachable', 'stale'] as const)(
    'treats a loss that becomes %s as the same loss',
    (reason) => {
      const { events, next } = poll(withoutData(), 900, lost(reason));
      expect(events).toEqual([]);
      expect(next.observation).toBe('noData');
    },
  );

  it('reports a lost machine that is removed, and one that is listed again without data', () => {
    const removed = poll(withoutData(), 900, lost('removed'));
    expect(removed.events).toMatchObject([{ data: { reason: 'removed', since: T0 } }]);
    const { events } = poll(removed.next, 960, lost('noData'));
    expect(events).toMatchObject([{ data: { reason: 'noData', since: T0 } }]);
  });

  it('reports the return of a machine whose state lasted', () => {
    const { events, next } = poll(withoutData(), 380, operating(T0 + 300, 15));
    const when = { lostSince: T0, restoredAt: T0 + 300, detectedAt: T0 + 380 };
    expect(events).toEqual([
      { type: STATE_EVENT_TYPES.observationRestored, data: { ...OF_MACHINE, ...when } },
    ]);
    expect(next).toMatchObject({ observation: 'ok', lostSince: null, sequence: 3 });
  });

  it('reports a loss no earlier than the latest period after a crash amid the periods missed in an earlier loss', () => {
    const [idleAt, lastUpdateTime] = [T0 + 1800, T0 + 3600];
    const reading = { state: 'OFF', durationInMinutes: 0, lastUpdateTime } as const;
    const entries = [
      { state: 'OPERATING', startTime: T0 - 600, endTime: idleAt } as const,
      { state: 'IDLE', startTime: idleAt, endTime: lastUpdateTime } as const,
    ];
    const result = { kind: 'reading', reading, log: { from: T0 - 1200, entries } } as const;
    const context = { now: T0 + 3660, staleAfterSeconds: 300, settleSeconds: 300 };
    const { events } = deriveStateChanges(MACHINE, withoutData(), result, context);
    const amid = events.at(-2)?.after;
    expect(amid).toMatchObject({ observation: 'ok', periods: [{}, { state: 'IDLE' }] });
    const again = poll(amid, 3720, lost('noData'));
    expect(again.events).toMatchObject([{ data: { since: idleAt, lastState: 'IDLE' } }]);
  });

  it('reports a machine whose latest update is too old as stale, and its return', () => {
    const stale = poll(observed(), 301, operating(T0));
    expect(stale.events).toMatchObject([{ data: { reason: 'stale', since: T0 } }]);
    const again = poll(stale.next, 361, operating(T0));
    expect(again.events).toEqual([]);
    const back = poll(again.next, 421, operating(T0 + 360, 16));
    expect(back.events).toMatchObject([{ type: STATE_EVENT_TYPES.observationRestored }]);
  });

  it('reports a machine without new updates as stale even if its clock is ahead of ours', () => {
    const first = poll(undefined, 0, operating(T0 + 3600)).next;
    const { events } = poll(first, 301, operating(T0 + 3600), { updateSeenAt: T0 });
    expect(events).toMatchObject([{ data: { reason: 'stale', since: T0 + 3600 } }]);
  });

  it('reports a machine of a service whose clock is too far behind as stale, but also its changes', () => {
    const first = poll(undefined, 301, operating(T0), { updateSeenAt: T0 + 301 });
    expect(first.events).toMatchObject([
      { data: { state: 'OPERATING' } },
      { data: { reason: 'stale' } },
    ]);
    const reading = { state: 'IDLE', durationInMinutes: 0, lastUpdateTime: T0 + 60 } as const;
    const idle = { kind: 'reading', reading, log: null } as const;
    const { events } = poll(first.next, 361, idle, { updateSeenAt: T0 + 361 });
    expect(events).toMatchObject([{ data: { state: 'IDLE', startTime: T0 + 60 } }]);
  });

  it('ignores an answer that is older than a known one, however old', () => {
    const reading = { state: 'OFF', durationInMinutes: 3, lastUpdateTime: T0 - 600 } as const;
    expect(poll(observed(), 100, { kind: 'reading', reading, log: null }).events).toEqual([]);
  });

  it('restores no machine by an answer that is older than a known one', () => {
    expect(poll(withoutData(), 210, operating(T0 - 60)).events).toEqual([]);
  });

  it('reports a machine with only older answers as stale, and its return with the first newer one', () => {
    const older = operating(T0 - 60);
    expect(poll(observed(), 300, older).events).toEqual([]);
    const stale = poll(observed(), 301, older);
    expect(stale.events).toMatchObject([{ data: { reason: 'stale', since: T0 } }]);
    expect(stale.next.lastUpdateTime).toBe(T0);
    const back = poll(stale.next, 361, operating(T0 + 300, 15));
    expect(back.events).toMatchObject([{ data: { lostSince: T0, restoredAt: T0 + 300 } }]);
  });

  it('stores new names without an event', () => {
    const machine = { ...MACHINE, displayName: 'Big mill' };
    const { events, next } = poll(observed(), 90, operating(T0), { machine });
    expect(events).toEqual([]);
    expect(next.displayName).toBe('Big mill');
  });
});

const log = (from: number, ...stretches: Stretch[]): ActivityLog => ({
  ...{ from: at(from), entries: entriesOf(...stretches) },
});

type Reading = Parameters<typeof readingOf>;

/** Periods published after a settled one, or for a new machine. */
function newPeriods(
  before: TrackedMachine | undefined,
  reading: Reading,
  log: ActivityLog | null,
  settleSeconds = 300,
): StateChanged[] {
  const result = { kind: 'reading', reading: readingOf(...reading), log } as const;
  const context = { now: at(1000), staleAfterSeconds: Infinity, settleSeconds };
  const { events } = deriveStateChanges(MACHINE, before, result, context);
  return events.flatMap(({ event }) => ('startTime' in event.data ? [event.data] : []));
}

/** Uses a log that lags. */
function polled(before: TrackedMachine | undefined, reading: MachineStateReading): Derivation {
  const result = { kind: 'reading', reading, log: log(0, ['OFF', 0, 10]) } as const;
  const context = { now: at(12), staleAfterSeconds: 300, settleSeconds: 300 };
  return deriveStateChanges(MACHINE, before, result, context);
}

/** State, minute of the start and source of the start of each period. */
const starts = (...poll: Parameters<typeof newPeriods>): string[] =>
  newPeriods(...poll).map((it) => `${it.state} ${minuteOf(it.startTime)} ${it.startTimeSource}`);

describe('the first observation', () => {
  it.each<[string, Reading, ActivityLog | null]>([
    ['without a log', ['OFF', 30, 10], null],
    ['when the log was clipped', ['OFF', 30, 10], log(-12, ['OFF', -12, 10])],
    ['when the log ends in another state', ['OFF', 30, 10], log(-42, ['IDLE', -42, -20])],
    ['when the log ends in that state long before', ['OFF', 30, 10], log(-70, ['OFF', -60, -30])],
  ])('reckons its start from the duration %s', (_, reading, logged) => {
    expect(starts(undefined, reading, logged)).toEqual(['OFF -20 duration']);
  });

  it('takes its start from the duration if the log was clipped, whatever history is wanted', () => {
    const logged = { ...log(-12, ['OFF', -12, 10]), historyFrom: at(-2) };
    expect(starts(undefined, ['OFF', 30, 10], logged)).toEqual(['OFF -20 duration']);
    const [period] = newPeriods(undefined, ['OFF', 30, 10], logged);
    expect(period).not.toHaveProperty('historyTruncatedBefore');
  });

  it('remains if the log ends soon after its start by the duration and does not show it yet', () => {
    const { events, next } = polled(undefined, readingOf('OPERATING', 1, 10.5));
    expect(events).toHaveLength(1);
    expect(polled(next, readingOf('OPERATING', 1, 10.5)).events).toEqual([]);
    expect(polled(next, readingOf('OPERATING', 2, 11.5)).events).toEqual([]);
  });

  it('that was published a minute late is followed by the next periods of the log', () => {
    const { next } = polled(undefined, readingOf('OPERATING', 1, 11.3));
    const logged = log(0, ['OFF', 0, 9], ['OPERATING', 9, 11], ['IDLE', 11, 12]);
    const found = newPeriods(next, ['OFF', 0, 12.3], logged);
    expect(found.map(({ state, startTime }) => [state, minuteOf(startTime)])).toEqual([
      ['IDLE', 11],
      ['OFF', 12.3],
    ]);
  });

  it('is not the earlier period of its state if the log does not show it yet', () => {
    const { next } = polled(undefined, readingOf('OPERATING', 1, 12));
    const logged = log(0, ['OPERATING', 0, 9.5], ['IDLE', 9.5, 12]);
    expect(newPeriods(next, ['OPERATING', 4, 15], logged)).toEqual([]);
  });

  it('takes its start from a log that was not clipped, however long before', () => {
    const logged = log(-10, ['OPERATING', -10, 5], ['IDLE', 5, 10]);
    expect(starts(undefined, ['IDLE', 4, 10], logged)).toEqual(['IDLE 5 activityLog']);
    const longBefore = log(-12, ['OFF', -21, 10]);
    expect(starts(undefined, ['OFF', 30, 10], longBefore)).toEqual(['OFF -21 activityLog']);
  });
});

describe('a state that lasts', () => {
  const current = published(['OPERATING', 0]);

  it.each([3, 4, 5, 6])('is not published again when its duration is %i minutes', (duration) => {
    expect(starts(current, ['OPERATING', duration, 5], null)).toEqual([]);
  });

  it('is not published again when the log moves a start that was estimated', () => {
    const estimated = published(['OPERATING', 0, 'duration']);
    for (const start of [-1, 1]) {
      const logged = log(-10, ['OFF', -10, start], ['OPERATING', start, 5]);
      expect(starts(estimated, ['OPERATING', 5, 5], logged)).toEqual([]);
    }
  });

  it('is not published again when the log no longer shows its beginning', () => {
    const logged = log(-10, ['OPERATING', 200, 500]);
    expect(starts(current, ['OPERATING', 500, 500], logged)).toEqual([]);
  });
});

describe('a change', () => {
  const current = published(['OPERATING', 0]);

  it('is published with the start the log has', () => {
    const logged = log(-10, ['OPERATING', 0, 7], ['IDLE', 7, 10]);
    expect(starts(current, ['IDLE', 2, 10], logged)).toEqual(['IDLE 7 activityLog']);
  });

  it('publishes every period in between, in order, even if the present state is the published one', () => {
    const before: Stretch[] = [
      ['OFF', 8, 9],
      ['OPERATING', 0, 5],
      ['IDLE', 5, 6],
      ['OPERATING', 6, 8],
    ];
    const between = ['IDLE 5 activityLog', 'OPERATING 6 activityLog', 'OFF 8 activityLog'];
    for (const state of ['IDLE', 'OPERATING'] as const) {
      const logged = log(-10, ...before, [state, 9, 10]);
      const present = `${state} 9 activityLog`;
      expect(starts(current, [state, 1, 10], logged)).toEqual([...between, present]);
    }
  });

  it.each<[string, number, number, number]>([
    ['while the log lags behind', 1, 8, 9],
    ['but begins not within what the log says was the state before', 4, 7, 7],
    ['against the last two minutes of the log', 1, 10, 9],
  ])('is estimated from the duration %s', (_, duration, logEnd, start) => {
    const logged = log(-10, ['OPERATING', 0, logEnd]);
    expect(starts(current, ['IDLE', duration, 10], logged)).toEqual([`IDLE ${start} duration`]);
  });

  it('does not begin in settled time if SETTLE_SECONDS is short', () => {
    const logged = log(-10, ['OPERATING', 0, 12]);
    const begun = [60, 0].map((settleSeconds) => {
      const [period] = newPeriods(current, ['IDLE', 4, 12], logged, settleSeconds);
      return period!.startTime;
    });
    expect(begun).toEqual([at(11) + 1, at(12)]);
  });

  it('waits for the reading when the log is a minute ahead of it', () => {
    const logged = log(-10, ['OPERATING', 0, 10], ['OFF', 10, 11]);
    expect(starts(current, ['OPERATING', 10, 10], logged)).toEqual([]);
  });

  it('never begins before the latest published one', () => {
    const estimated = published(['IDLE', 8, 'duration']);
    const logged = log(-2, ['OPERATING', 0, 7], ['IDLE', 7, 8], ['OFF', 8, 11]);
    const [off] = newPeriods(estimated, ['OFF', 2, 11], logged);
    // that second itself is settled
    expect(off?.startTime).toBe(at(8) + 1);
  });

  it.each([
    ['before all that the log was read for', 70, { startTime: at(20) }, 'historyTruncatedBefore'],
    ['while the machine was seen, without a hole', 900, { startTime: at(1) }, 'previousEndTime'],
  ])('is reckoned from the duration when it began %s', (_, duration, expected, field) => {
    const logged = { ...log(50, ['IDLE', 50, 90]), truncatedBefore: at(50) };
    const [idle] = newPeriods(current, ['IDLE', duration, 90], logged);
    expect(idle).toMatchObject({ ...expected, startTimeSource: 'duration' });
    if (field === 'previousEndTime') expect(idle).not.toHaveProperty(field);
    else expect(idle).toMatchObject({ [field]: at(50) });
  });

  it('leaves a gap after the first observation if the process died before it had published all later periods', () => {
    const reading = readingOf('OPERATING', 6, 6);
    const result = { kind: 'reading', reading, log: null, missingFrom: at(6) } as const;
    const context = { now: at(16), staleAfterSeconds: 300, settleSeconds: 300 };
    const [first, ...others] = deriveStateChanges(MACHINE, undefined, result, context).events;
    expect(others).toHaveLength(1);
    const idle = { state: 'IDLE', startTime: at(14), previousEndTime: at(6) };
    expect(newPeriods(first!.after, ['IDLE', 0, 14], null)).toMatchObject([idle]);
  });

  it('is a new period after minutes without data, even of the same state', () => {
    const logged = log(-10, ['OPERATING', 0, 5], ['OPERATING', 8, 10]);
    expect(starts(current, ['OPERATING', 2, 10], logged)).toEqual(['OPERATING 8 activityLog']);
  });
});
