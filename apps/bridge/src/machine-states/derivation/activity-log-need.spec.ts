import fc from 'fast-check';
import { type MachineState, MACHINE_STATES } from '#libs/contracts';
import { activityLogNeed, type LogRequest } from './activity-log-need.js';
import { deriveStateChanges } from './derive-state-changes.js';
import { at, entriesOf, MACHINE, published, readingOf } from './testing/tracked-periods.js';
import { newlyTracked, type TrackedMachine } from './tracked-machine.js';
import { type ActivitySegment, activitySegments } from './activity-log.js';

const MINUTE = 60;
const DAY = 24 * 3600;

const tracked = (startMinute: number, settledUntil: number | null): TrackedMachine => ({
  ...{ ...published(['OPERATING', startMinute]), settledUntil },
});

const settled = (startMinute: number): TrackedMachine => tracked(startMinute, at(startMinute));

/** Results of an earlier poll: the time of its update, and the start by its duration. */
interface Seen {
  minute: number;
  startMinute: number;
}

const seen = (minute: number, startMinute: number): Seen => ({ minute, startMinute });

interface Circumstances {
  state?: MachineState;
  ahead?: number;
  isLogDue?: boolean;
}

function need(
  before: TrackedMachine | undefined,
  minute: number,
  duration: number,
  known: Seen | null,
  more: Circumstances = {},
): LogRequest | null {
  const { state = 'OPERATING', ahead = 0, isLogDue = true } = more;
  const tracked = before && known ? { ...before, lastUpdateTime: at(known.minute) } : before;
  return activityLogNeed(
    tracked,
    readingOf(state, duration, minute),
    { durationStart: known && at(known.startMinute), isLogDue },
    {
      now: at(minute + 1 + ahead),
      staleAfterSeconds: 300,
      settleSeconds: 300,
      backfillOnFirstStartSeconds: 0,
    },
  );
}

describe('activityLogNeed', () => {
  it('is none after a restart if the duration shows that the state has lasted', () => {
    const remembered = { ...settled(0), lastUpdateTime: at(5) };
    expect(need(remembered, 600, 599, null)).toBeNull();
    expect(need(remembered, 600, 590, null)).toMatchObject({ purpose: 'news' });
    // A state that came and went in its first minutes, before the next poll, would not show.
    const hardlySeen = { ...remembered, lastUpdateTime: at(3) };
    expect(need(hardlySeen, 600, 598, null)).toMatchObject({ purpose: 'news' });
  });

  it.each([4, 5, 6])('is none for a state that lasts, when its duration is %i', (duration) => {
    expect(need(settled(0), 5, duration, seen(4, 0))).toBeNull();
  });

  it('exists after a restart and after a loss', () => {
    expect(need(settled(0), 5, 5, null)?.purpose).toBe('news');
    const lost: TrackedMachine = { ...settled(0), observation: 'noData' };
    expect(need(lost, 5, 5, seen(4, 0))?.purpose).toBe('news');
    expect(need(lost, 5, 5, seen(4, 0), { ahead: 60 })).toBeNull();
  });

  it('is overdue if the log could not be read before, even if the state has surely lasted', () => {
    const remembered = { ...settled(0), lastUpdateTime: at(600) };
    expect(need(remembered, 601, 600, null)).toBeNull();
    const unread = { ...remembered, unreadFrom: at(300) };
    expect(need(unread, 601, 600, null)).toMatchObject({
      purpose: 'overdue',
      missingFrom: at(300),
    });
    expect(need(unread, 601, 600, null, { isLogDue: false })).toBeNull();
    expect(need(unread, 601, 1, null, { isLogDue: false, state: 'IDLE' })?.purpose).toBe('news');
  });

  it('is none for an answer that is older than the known one', () => {
    const remembered = { ...settled(0), lastUpdateTime: at(600) };
    expect(need(remembered, 590, 3, null, { state: 'IDLE' })).toBeNull();
  });

  it('confirms a start as soon as it is settled, and only once', () => {
    const [fresh, known] = [tracked(0, null), seen(4, 0)];
    expect(need(fresh, 4, 4, known)).toBeNull();
    expect(need(fresh, 5, 5, known)).toMatchObject({
      from: at(-10),
      to: at(6),
      purpose: 'confirmation',
    });
    expect(need(fresh, 5, 5, known, { isLogDue: false })).toBeNull();
    expect(need(settled(0), 5, 5, known)).toBeNull();
  });

  it('uses the clock of the service for that', () => {
    expect(need(tracked(0, null), 4, 4, seen(3, 0), { ahead: 60 })).toBeNull();
  });

  it('reaches 30 days back and says so if that is not enough', () => {
    const [long, today] = [settled(-40 * 24 * 60), at(0)];
    const other = { state: 'IDLE' } as const;
    expect(need(long, 0, 1, null, other)).toMatchObject({
      from: today + MINUTE - 30 * DAY,
      to: today + MINUTE,
      purpose: 'news',
      truncatedBefore: today + MINUTE - 30 * DAY,
    });
    const watchedAllAlong = seen(-1, -40 * 24 * 60);
    expect(need(long, 0, 1, watchedAllAlong, other)).not.toHaveProperty('truncatedBefore');
  });

  it('reaches back to the start of the present state until a first start is settled', () => {
    // the service has revised the minute in which the machine was first seen
    const [known, other] = [seen(4, 0), { state: 'IDLE' } as const];
    expect(need(tracked(0, null), 5, 500, known, other)?.from).toBe(at(-505));
    expect(need(settled(0), 5, 500, known, other)?.from).toBe(at(-10));
  });

  it('is no history after a crash between corrections, when the first start is no longer the oldest', () => {
    const amid = { ...published(['IDLE', 20], ['OFF', 0], ['IDLE', 10]), settledUntil: null };
    const request = need({ ...amid, unreadFrom: at(5) }, 21, 1, null, { state: 'OFF' });
    expect(request).toMatchObject({ from: at(-10), missingFrom: at(5) });
    expect(request).not.toHaveProperty('historyFrom');
  });

  it('is no history after a crash once periods older than 30 days were given up', () => {
    const months = published(['IDLE', -60 * 24 * 60], ['OFF', -50 * 24 * 60]);
    const before = { ...months, settledUntil: null, unreadFrom: at(-60 * 24 * 60) };
    const reading = readingOf('OFF', 1, 10);
    const logged = entriesOf(['OFF', -30 * 24 * 60, 5], ['IDLE', 5, 9], ['OFF', 9, 10]);
    const log = { from: at(10) - 30 * DAY, entries: logged };
    const context = { now: at(11), staleAfterSeconds: 300, settleSeconds: 300 };
    const result = { kind: 'reading', reading, log } as const;
    const { events } = deriveStateChanges(MACHINE, before, result, context);
    expect(events.length).toBeGreaterThan(1);
    expect(need(events[0]!.after, 10, 1, null)).not.toHaveProperty('historyFrom');
  });

  it('is only the present state of a new machine', () => {
    expect(need(undefined, 0, 30, null)).toMatchObject({
      from: at(-40),
      to: at(1),
      purpose: 'news',
    });
    expect(need(undefined, 0, 30, null)).not.toHaveProperty('historyFrom');
    expect(need(undefined, 0, 60 * 24 * 60, null)?.from).toBe(at(1) - 30 * DAY);
  });

  it('covers the time since a machine was first listed without data, up to 30 days, and says where it is cut off', () => {
    const listed = (lostSince: number): TrackedMachine => ({ ...newlyTracked(MACHINE), lostSince });
    const request = need(listed(at(-100)), 0, 30, null);
    expect(request).toMatchObject({ from: at(-110), historyFrom: at(-100) });
    expect(request).not.toHaveProperty('truncatedBefore');
    const edge = at(1) - 30 * DAY;
    expect(need(listed(at(1) - 40 * DAY), 0, 30, null)).toMatchObject({
      historyFrom: edge,
      truncatedBefore: edge,
    });
  });
});

const segment = (state: MachineState, startTime: number, endTime: number): ActivitySegment => ({
  state,
  startTime,
  endTime,
});

describe('activitySegments', () => {
  const OFF = segment('OFF', 0, 60);
  const begun = [segment('IDLE', 0, 120), segment('OPERATING', 120, 180)];

  it.each([
    ['sorts entries', [segment('IDLE', 60, 120), OFF], [OFF, segment('IDLE', 60, 120)]],
    [
      'merges neighbours of one state, and repetitions from clipped windows',
      [OFF, segment('OFF', 60, 120), segment('OFF', 90, 180)],
      [segment('OFF', 0, 180)],
    ],
    [
      'keeps a missing minute as a gap',
      [OFF, segment('OFF', 120, 180)],
      [OFF, segment('OFF', 120, 180)],
    ],
    [
      'treats a gap of seconds as rounding',
      [segment('OFF', 0, 59), segment('OFF', 60, 180)],
      [segment('OFF', 0, 180)],
    ],
    [
      'prefers the entry that starts later if entries overlap',
      [segment('OPERATING', 0, 600), segment('IDLE', 120, 180)],
      [segment('OPERATING', 0, 120), segment('IDLE', 120, 180), segment('OPERATING', 180, 600)],
    ],
    [
      'drops entries without length, but not the one that has just begun',
      [segment('IDLE', 0, 0), segment('OPERATING', 0, 120), segment('OFF', 120, 120)],
      [segment('OPERATING', 0, 120), segment('OFF', 120, 121)],
    ],
    [
      'drops an entry without length if one with a length has just begun',
      [...begun, segment('OFF', 120, 120)],
      begun,
    ],
  ])('%s', (_, given, segments) => {
    expect(activitySegments(given)).toEqual(segments);
  });

  it('always yields segments in order, without overlap, and only states that the log has', () => {
    const entry = fc
      .record({
        state: fc.constantFrom(...MACHINE_STATES),
        start: fc.integer({ min: 0, max: 50 }),
        length: fc.integer({ min: 0, max: 30 }),
      })
      .map(({ state, start, length }) => segment(state, start * 60, (start + length) * 60));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), (given) => {
        const segments = activitySegments(given);
        let end = -Infinity;
        for (const it of segments) {
          expect(it.startTime).toBeGreaterThanOrEqual(end);
          expect(it.endTime).toBeGreaterThan(it.startTime);
          end = it.endTime;
          const said = given.some(
            ({ state, startTime, endTime }) =>
              state === it.state && startTime <= it.startTime && it.startTime <= endTime,
          );
          expect(said).toBe(true);
        }
      }),
    );
  });
});
