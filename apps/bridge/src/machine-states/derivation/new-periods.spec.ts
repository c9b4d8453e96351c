import type { MachineStateReading } from '#libs/cloud-client';
import type { MachineState, StateChanged } from '#libs/contracts';
import type { ActivityLog } from './activity-log.js';
import { deriveStateChanges } from './derive-state-changes.js';
import { newlyTracked, type PublishedPeriod } from './tracked-machine.js';

const MACHINE = { machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };
const MINUTE = 60;
const T0 = 1_763_680_020;

/** Minutes after T0, so that the cases can be read. */
const at = (minute: number): number => T0 + minute * MINUTE;

const entry = (state: MachineState, from: number, to: number) => ({
  state,
  startTime: at(from),
  endTime: at(to),
});

const log = (from: number, ...entries: ReturnType<typeof entry>[]): ActivityLog => ({
  from: at(from),
  entries,
});

const reading = (state: MachineState, durationInMinutes: number, minute: number) => ({
  state,
  durationInMinutes,
  lastUpdateTime: at(minute),
});

const published = (
  state: MachineState,
  minute: number,
  startTimeSource: PublishedPeriod['startTimeSource'] = 'activityLog',
): PublishedPeriod => ({
  state,
  startTime: at(minute),
  startTimeSource,
  revision: 0,
  previousState: null,
  previousStartTime: null,
  previousEndTime: null,
});

/** What is published after a period that is settled, or of a machine never seen before. */
function newPeriods(
  current: PublishedPeriod | null,
  reading: MachineStateReading,
  log: ActivityLog | null,
  settleSeconds = 300,
): StateChanged[] {
  const before = current
    ? { ...newlyTracked(MACHINE), periods: [current], settledUntil: current.startTime }
    : undefined;
  const result = { kind: 'reading', reading, log } as const;
  const context = { now: at(1000), staleAfterSeconds: Infinity, settleSeconds };
  const { events } = deriveStateChanges(MACHINE, before, result, context);
  return events.flatMap(({ event }) => ('startTime' in event.data ? [event.data] : []));
}

const inMinutes = (periods: StateChanged[]): [MachineState, number, string][] =>
  periods.map((it) => [it.state, (it.startTime - T0) / MINUTE, it.startTimeSource]);

describe('the first observation', () => {
  it('takes its start from the log', () => {
    const periods = newPeriods(
      null,
      reading('IDLE', 4, 10),
      log(-10, entry('OPERATING', -10, 5), entry('IDLE', 5, 10)),
    );
    expect(inMinutes(periods)).toEqual([['IDLE', 5, 'activityLog']]);
  });

  it('reckons its start from the duration without a log', () => {
    expect(inMinutes(newPeriods(null, reading('OFF', 4, 10), null))).toEqual([
      ['OFF', 6, 'duration'],
    ]);
  });

  it('reckons its start from the duration when the log was clipped', () => {
    const periods = newPeriods(null, reading('OFF', 30, 10), log(-12, entry('OFF', -12, 10)));
    expect(inMinutes(periods)).toEqual([['OFF', -20, 'duration']]);
  });

  it('reckons its start from the duration when the log was clipped, whatever history is wanted', () => {
    const logged = { ...log(-12, entry('OFF', -12, 10)), historyFrom: at(-2) };
    const periods = newPeriods(null, reading('OFF', 30, 10), logged);
    expect(inMinutes(periods)).toEqual([['OFF', -20, 'duration']]);
    expect(periods[0]).not.toHaveProperty('historyTruncatedBefore');
  });

  it('takes its start from a log that was not clipped, however long before', () => {
    const periods = newPeriods(null, reading('OFF', 30, 10), log(-12, entry('OFF', -21, 10)));
    expect(inMinutes(periods)).toEqual([['OFF', -21, 'activityLog']]);
  });

  it('reckons its start from the duration when the log ends in another state', () => {
    const periods = newPeriods(null, reading('OFF', 1, 10), log(-12, entry('IDLE', -12, 9)));
    expect(inMinutes(periods)).toEqual([['OFF', 9, 'duration']]);
  });
});

describe('a state that lasts', () => {
  const current = published('OPERATING', 0);

  it.each([3, 4, 5, 6])('is not published again when its duration is %i minutes', (duration) => {
    expect(newPeriods(current, reading('OPERATING', duration, 5), null)).toEqual([]);
  });

  it('is not published again from the log', () => {
    const entries = log(-10, entry('OFF', -10, 0), entry('OPERATING', 0, 5));
    expect(newPeriods(current, reading('OPERATING', 5, 5), entries)).toEqual([]);
  });

  it('is not published again when the log moves a start that was estimated', () => {
    const estimated = published('OPERATING', 0, 'duration');
    for (const start of [-1, 1]) {
      const entries = log(-10, entry('OFF', -10, start), entry('OPERATING', start, 5));
      expect(newPeriods(estimated, reading('OPERATING', 5, 5), entries)).toEqual([]);
    }
  });

  it('is not published again when the log has forgotten its beginning', () => {
    const entries = log(-10, entry('OPERATING', 200, 500));
    expect(newPeriods(current, reading('OPERATING', 500, 500), entries)).toEqual([]);
  });
});

describe('a change', () => {
  const current = published('OPERATING', 0);

  it('is published with the start the log has', () => {
    const entries = log(-10, entry('OPERATING', 0, 7), entry('IDLE', 7, 10));
    expect(inMinutes(newPeriods(current, reading('IDLE', 2, 10), entries))).toEqual([
      ['IDLE', 7, 'activityLog'],
    ]);
  });

  it('brings every period in between, in order', () => {
    const entries = log(
      -10,
      entry('OFF', 8, 9),
      entry('OPERATING', 0, 5),
      entry('IDLE', 9, 10),
      entry('IDLE', 5, 6),
      entry('OPERATING', 6, 8),
    );
    expect(inMinutes(newPeriods(current, reading('IDLE', 1, 10), entries))).toEqual([
      ['IDLE', 5, 'activityLog'],
      ['OPERATING', 6, 'activityLog'],
      ['OFF', 8, 'activityLog'],
      ['IDLE', 9, 'activityLog'],
    ]);
  });

  it('brings a state that came and went though the present state is the published one', () => {
    const entries = log(
      -10,
      entry('OPERATING', 0, 5),
      entry('IDLE', 5, 6),
      entry('OPERATING', 6, 10),
    );
    expect(inMinutes(newPeriods(current, reading('OPERATING', 4, 10), entries))).toEqual([
      ['IDLE', 5, 'activityLog'],
      ['OPERATING', 6, 'activityLog'],
    ]);
  });

  it('is estimated from the duration while the log lags behind', () => {
    const entries = log(-10, entry('OPERATING', 0, 8));
    expect(inMinutes(newPeriods(current, reading('IDLE', 1, 10), entries))).toEqual([
      ['IDLE', 9, 'duration'],
    ]);
  });

  it('does not begin within what the log says was the state before', () => {
    const entries = log(-10, entry('OPERATING', 0, 7));
    expect(inMinutes(newPeriods(current, reading('IDLE', 4, 10), entries))).toEqual([
      ['IDLE', 7, 'duration'],
    ]);
  });

  it('is believed against the last two minutes of the log', () => {
    const entries = log(-10, entry('OPERATING', 0, 10));
    expect(inMinutes(newPeriods(current, reading('IDLE', 1, 10), entries))).toEqual([
      ['IDLE', 9, 'duration'],
    ]);
  });

  it('does not begin within what is settled already, where SETTLE_SECONDS is short', () => {
    const entries = log(-10, entry('OPERATING', 0, 12));
    const starts = [60, 0].map((settleSeconds) => {
      const [period] = newPeriods(current, reading('IDLE', 4, 12), entries, settleSeconds);
      return period!.startTime;
    });
    expect(starts).toEqual([at(11) + 1, at(12)]);
  });

  it('waits for the reading when the log is a minute ahead of it', () => {
    const entries = log(-10, entry('OPERATING', 0, 10), entry('OFF', 10, 11));
    expect(newPeriods(current, reading('OPERATING', 10, 10), entries)).toEqual([]);
  });

  it('that is already published from the duration is followed by what comes after it in the log', () => {
    const estimated = published('IDLE', 8, 'duration');
    const entries = log(-2, entry('OPERATING', 0, 7), entry('IDLE', 7, 9), entry('OFF', 9, 11));
    expect(inMinutes(newPeriods(estimated, reading('OFF', 2, 11), entries))).toEqual([
      ['OFF', 9, 'activityLog'],
    ]);
  });

  it('never begins before the one published last', () => {
    const estimated = published('IDLE', 8, 'duration');
    const entries = log(-2, entry('OPERATING', 0, 7), entry('IDLE', 7, 8), entry('OFF', 8, 11));
    const [off] = newPeriods(estimated, reading('OFF', 2, 11), entries);
    // the moment itself is settled
    expect(off?.startTime).toBe(at(8) + 1);
  });

  it('is reckoned from the duration when it began before all that the log was read for', () => {
    const entries = { ...log(50, entry('IDLE', 50, 90)), truncatedBefore: at(50) };
    const [idle] = newPeriods(current, reading('IDLE', 70, 90), entries);
    expect(idle).toMatchObject({
      startTime: at(20),
      startTimeSource: 'duration',
      historyTruncatedBefore: at(50),
    });
  });

  it('leaves no hole before it where the duration says that it began while the machine was seen', () => {
    const entries = { ...log(50, entry('IDLE', 50, 90)), truncatedBefore: at(50) };
    const [idle] = newPeriods(current, reading('IDLE', 900, 90), entries);
    expect(idle).toMatchObject({ startTime: at(1), startTimeSource: 'duration' });
    expect(idle).not.toHaveProperty('previousEndTime');
  });

  it('is a new period after minutes without data, even into the same state', () => {
    const entries = log(-10, entry('OPERATING', 0, 5), entry('OPERATING', 8, 10));
    expect(inMinutes(newPeriods(current, reading('OPERATING', 2, 10), entries))).toEqual([
      ['OPERATING', 8, 'activityLog'],
    ]);
  });
});
