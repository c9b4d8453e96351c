import { type MachineState, STATE_EVENT_TYPES, stateChangeId } from '#libs/contracts';
import {
  deriveStateChanges,
  type Derivation,
  type DerivationContext,
} from './derive-state-changes.js';
import {
  at,
  entriesOf,
  MACHINE,
  minuteOf,
  published,
  readingOf,
  type Stretch,
} from './testing/tracked-periods.js';
import { mostUnreadPeriods, stateRecord, type TrackedMachine } from './tracked-machine.js';

/** A poll one minute after minute `minute`, the minute of its answer. */
function read(
  tracked: TrackedMachine,
  reading: Parameters<typeof readingOf>,
  log: readonly Stretch[] | null,
  more: Pick<DerivationContext, 'mostUnreadPeriods'> = {},
): Derivation {
  const logged = log === null ? null : { from: at(-10), entries: entriesOf(...log) };
  const result = { kind: 'reading', reading: readingOf(...reading), log: logged } as const;
  const context = { now: at(reading[2] + 1), staleAfterSeconds: 300, settleSeconds: 300, ...more };
  return deriveStateChanges(MACHINE, tracked, result, context);
}

/** A poll that reads the state of the log's end. */
function poll(tracked: TrackedMachine, minute: number, ...log: Stretch[]): Derivation {
  return read(tracked, [log.at(-1)![0], 1, minute], log);
}

const stretches = (...all: Stretch[]): Stretch[] => all;

type Row = [kind: string, state: MachineState, from: number, previous: string, revision: number];

function rowsOf({ events }: Derivation): Row[] {
  return events.map(({ event }) => {
    if (!('startTime' in event.data)) throw new Error(`${event.type} was not expected`);
    const { state, startTime, previousState, previousStartTime, revision } = event.data;
    const previous = `${previousState} ${minuteOf(previousStartTime ?? 0)}`;
    const kind = event.type === STATE_EVENT_TYPES.changed ? 'changed' : 'corrected';
    return [kind, state, minuteOf(startTime), previous, revision];
  });
}

const id = (state: MachineState, minute: number, revision = 0): string =>
  stateChangeId('M-1', at(minute), state, revision);

describe('a published period that the settled log', () => {
  it('has with another start is corrected', () => {
    const derivation = poll(published(['OFF', 0], ['IDLE', 5]), 12, ['OFF', 0, 7], ['IDLE', 7, 12]);
    expect(rowsOf(derivation)).toEqual([['corrected', 'IDLE', 7, 'OFF 0', 1]]);
    const more = { detectedAt: at(13), startTimeSource: 'activityLog', corrects: id('IDLE', 5) };
    const data = { machineId: 'M-1', factoryId: 'F-1', ...more };
    expect(derivation.events).toMatchObject([
      { id: id('IDLE', 7, 1), time: at(7), sequence: 3, event: { data } },
    ]);
  });

  it('has with another state is corrected, and so is the next one that names it', () => {
    const before = published(['OFF', 0], ['IDLE', 5], ['OFF', 6]);
    const derivation = poll(before, 12, ['OFF', 0, 5], ['OPERATING', 5, 6], ['OFF', 6, 12]);
    expect(rowsOf(derivation)).toEqual([
      ['corrected', 'OPERATING', 5, 'OFF 0', 1],
      ['corrected', 'OFF', 6, 'OPERATING 5', 1],
    ]);
    expect(derivation.events.map(({ event }) => event.data)).toMatchObject([
      { corrects: id('IDLE', 5) },
      { corrects: id('OFF', 6) },
    ]);
  });

  it('does not have gets the content of the period before it, also if that was corrected so', () => {
    const before = published(['OFF', 0], ['IDLE', 5], ['OFF', 6]);
    const { next, ...derivation } = poll(before, 12, ['OFF', 0, 12]);
    expect(rowsOf({ next, ...derivation })).toEqual([
      ['corrected', 'OFF', 0, 'OFF 0', 1],
      ['corrected', 'OFF', 0, 'OFF 0', 2],
    ]);
    expect(poll(next, 20, ['OFF', 0, 20]).events).toEqual([]);
    expect(rowsOf(poll(next, 20, ['OFF', 0, 19], ['IDLE', 19, 20]))).toEqual([
      ['changed', 'IDLE', 19, 'OFF 0', 0],
    ]);
  });

  it('does not have, in the minute of the previous one, leaves no row from a state to itself', () => {
    const before = published(['IDLE', -5], ['OFF', 5.1], ['IDLE', 5.4], ['OFF', 5.7]);
    const { events } = poll(before, 12, ['IDLE', -5, 5], ['OFF', 5, 12]);
    expect(events.map(({ event }) => event.data)).toMatchObject([
      { state: 'OFF', startTime: at(5.1), previousState: 'OFF', previousStartTime: at(5.1) },
      { state: 'OFF', startTime: at(5.1), previousState: 'OFF', previousStartTime: at(5.1) },
    ]);
  });

  it('has after minutes without data is corrected to say so', () => {
    const before = published(['OFF', 0], ['IDLE', 5]);
    const [corrected] = poll(before, 12, ['OFF', 0, 3], ['IDLE', 5, 12]).events;
    expect(corrected?.event.data).toMatchObject({ revision: 1, previousEndTime: at(3) });
  });

  it('has in the same minute is left alone', () => {
    const before = published(['OFF', 0], ['IDLE', 5.4]);
    expect(poll(before, 12, ['OFF', 0, 5], ['IDLE', 5, 12]).events).toEqual([]);
  });
});

it('corrects no period that began before the window of the log', () => {
  const before = published(['OFF', -30], ['IDLE', -20], ['OPERATING', -15]);
  expect(rowsOf(poll(before, 12, ['OFF', -10, 5], ['OPERATING', 5, 12]))).toEqual([
    ['changed', 'OFF', -10, 'OPERATING -15', 0],
    ['changed', 'OPERATING', 5, 'OFF -10', 0],
  ]);
});

describe('a log that ends before the present state', () => {
  it('moves a start within it to its end, not to the present', () => {
    const before = published(['IDLE', 0], ['OFF', 9]);
    expect(rowsOf(read(before, ['OFF', 11, 20], [['IDLE', 0, 10]]))).toEqual([
      ['corrected', 'OFF', 10, 'IDLE 0', 1],
    ]);
  });

  it('moves a start to its end before that is settled, if the duration now says so too', () => {
    const before = published(['IDLE', 0], ['OFF', 9]);
    expect(rowsOf(read(before, ['OFF', 5, 14], [['IDLE', 0, 10]]))).toEqual([
      ['corrected', 'OFF', 10, 'IDLE 0', 1],
    ]);
  });

  it('moves a start within it to its end if that is settled, whatever the duration says', () => {
    const before = published(['IDLE', 0], ['OFF', 9]);
    expect(rowsOf(read(before, ['OFF', 18, 20], [['IDLE', 0, 10]]))).toEqual([
      ['corrected', 'OFF', 10, 'IDLE 0', 1],
    ]);
  });

  it('moves a start within it to the present if it lags by less than SETTLE_SECONDS', () => {
    const before = published(['IDLE', 0], ['OFF', 2]);
    expect(rowsOf(read(before, ['OFF', 12, 14], [['IDLE', 0, 12]]))).toEqual([
      ['corrected', 'OFF', 14, 'IDLE 0', 1],
    ]);
  });

  it('is not the present state, even if that is the same after minutes without data', () => {
    const before = { ...published(['OFF', -5], ['OPERATING', 0.1]), lastUpdateTime: at(5) };
    const log = stretches(['OFF', -5, 0.5], ['OPERATING', 0.5, 5]);
    const [event] = read(before, ['OPERATING', 2, 60], log).events;
    expect(event?.event.data).toMatchObject({ startTime: at(58), previousEndTime: at(5) });
  });
});

describe('a period that was missed', () => {
  it('within the minute of the next one leaves no two states that begin at once', () => {
    const before = published(['OFF', 0], ['IDLE', 6.1]);
    const log = stretches(['OFF', 0, 6.1], ['OPERATING', 6.1, 6.5], ['IDLE', 6.5, 12]);
    expect(rowsOf(poll(before, 12, ...log))).toEqual([
      ['changed', 'OPERATING', 6.1, 'OFF 0', 0],
      ['corrected', 'IDLE', 6.5, 'OPERATING 6.1', 1],
    ]);
  });

  it('and was published before with the same start gets a new id', () => {
    const before = published(['OFF', 0], ['IDLE', 5]);
    const moved = poll(before, 11, ['OFF', 0, 7], ['IDLE', 7, 11]).next;
    const log = stretches(['OFF', 0, 5], ['IDLE', 5, 6], ['OFF', 6, 7], ['IDLE', 7, 11]);
    const ids = poll(moved, 11, ...log).events.map((it) => it.id);
    expect(ids).not.toContain(id('IDLE', 5));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

it('corrects only what differs', () => {
  const before = published(['OPERATING', 0], ['IDLE', 5], ['OPERATING', 6]);
  const log: Stretch[] = [
    ['OPERATING', 0, 3],
    ['OFF', 3, 4],
    ['OPERATING', 4, 5],
    ['IDLE', 5, 8],
    ['OPERATING', 8, 14],
  ];
  const derivation = poll(before, 14, ...log);
  expect(rowsOf(derivation)).toEqual([
    ['changed', 'OFF', 3, 'OPERATING 0', 0],
    ['changed', 'OPERATING', 4, 'OFF 3', 0],
    ['corrected', 'IDLE', 5, 'OPERATING 4', 1],
    ['corrected', 'OPERATING', 8, 'IDLE 5', 1],
  ]);
  expect(derivation.events.slice(2).map(({ event }) => event.data)).toMatchObject([
    { corrects: id('IDLE', 5) },
    { corrects: id('OPERATING', 6) },
  ]);
});

describe('a log that may still change', () => {
  it('corrects nothing', () => {
    const before = published(['OFF', 0], ['IDLE', 8]);
    expect(poll(before, 11, ['OFF', 0, 7], ['IDLE', 7, 11]).events).toEqual([]);
  });

  it('corrects a start that differs within its minute only if a new period begins before it', () => {
    const before = published(['IDLE', 0], ['OFF', 10.5]);
    const log = stretches(['IDLE', 0, 10.1], ['OFF', 10.1, 10.3], ['OPERATING', 10.3, 12]);
    expect(rowsOf(poll(before, 12, ...log))).toEqual([
      ['corrected', 'OFF', 10.1, 'IDLE 0', 1],
      ['changed', 'OPERATING', 10.3, 'OFF 10.1', 0],
    ]);
  });

  it('corrects a period that would be out of order with a new one, rather than inventing a second for it', () => {
    const before = published(['OFF', 0], ['IDLE', 11]);
    const log = stretches(['OFF', 0, 10], ['IDLE', 10, 11], ['OFF', 11, 12]);
    expect(rowsOf(poll(before, 12, ...log))).toEqual([
      ['corrected', 'IDLE', 10, 'OFF 0', 1],
      ['changed', 'OFF', 11, 'IDLE 10', 0],
    ]);
  });
});

it('continues corrections after a crash, whatever the order of the periods published so far', () => {
  const before = published(['IDLE', 0], ['OFF', 35], ['IDLE', 37]);
  const log: Stretch[] = [
    ['IDLE', 0, 39],
    ['OFF', 39, 40],
  ];
  const [first] = poll(before, 40, ...log).events;
  expect(rowsOf(poll(first!.after, 40, ...log))).toEqual([['corrected', 'OFF', 39, 'OFF 39', 2]]);
});

it('keeps periods that may need a correction, but a bounded number', () => {
  const flickering = Array.from({ length: 100 }, (_, minute): Stretch => [
    minute % 2 === 0 ? 'IDLE' : 'OPERATING',
    minute,
    minute + 1,
  ]);
  const flickered = poll(published(['OFF', -5]), 100, ...flickering);
  expect(flickered.events).toHaveLength(100);
  expect(flickered.events.every(({ after }) => after.periods.length <= 32)).toBe(true);
  expect(flickered.next.periods.map(({ startTime }) => startTime)).toEqual(
    [95, 96, 97, 98, 99].map(at),
  );
  expect(
    poll(flickered.next, 120, ...flickering, ['OPERATING', 100, 120]).next.periods,
  ).toHaveLength(1);
});

describe('periods that wait for the log', () => {
  /** Another state in each minute, without a log. */
  const flickered = (minutes: number, most: number): TrackedMachine => {
    let tracked: TrackedMachine = { ...published(['OFF', -5]), unreadFrom: at(-5) };
    for (let minute = 0; minute < minutes; minute += 1) {
      const state = minute % 2 === 0 ? 'IDLE' : 'OPERATING';
      tracked = read(tracked, [state, 0, minute], null, { mostUnreadPeriods: most }).next;
    }
    return tracked;
  };

  it.each([
    [1, 512],
    [1171, 512],
    [1172, 511],
    [60_000, 10],
    [100_000, 8],
  ])('are remembered, of a fleet of %i machines %i of each', (machines, periods) => {
    expect(mostUnreadPeriods(machines)).toBe(periods);
  });

  it('stay as published beyond the bound, whatever the log says', () => {
    const tracked = flickered(20, 8);
    expect(tracked.periods.map(({ startTime }) => startTime)).toEqual(
      [12, 13, 14, 15, 16, 17, 18, 19].map(at),
    );
    const { events } = poll(tracked, 40, ['OFF', -10, 15], ['IDLE', 15, 40]);
    expect(events).not.toEqual([]);
    expect(Math.min(...events.map(({ time }) => time))).toBeGreaterThan(at(12));
  });

  it('are all kept until they are corrected, even if the process dies meanwhile', () => {
    const before = flickered(50, 512);
    const log = Array.from({ length: 25 }, (_, pair): Stretch[] => [
      ['OFF', 2 * pair, 2 * pair + 1],
      ['OPERATING', 2 * pair + 1, 2 * pair + 2],
    ]).flat();
    const afterwards = (tracked: TrackedMachine): Derivation =>
      poll(tracked, 60, ['IDLE', -10, 0], ...log, ['IDLE', 50, 60]);
    const whole = rowsOf(afterwards(before));
    expect(whole.length).toBeGreaterThan(32);
    const dying = afterwards(before).events[9]!;
    expect(rowsOf(afterwards(dying.after))).toEqual(whole.slice(10));
  });
});

it('publishes once per settle time that the state is still one that the settled log denies', () => {
  let tracked = published(['OPERATING', 0], ['IDLE', 2]);
  const publishedAt: number[] = [];
  for (let minute = 3; minute <= 33; minute += 1) {
    const { events, next } = read(tracked, ['IDLE', 1, minute], [['OPERATING', 0, minute]]);
    publishedAt.push(...events.map(() => minute));
    expect(next.periods.at(-1)?.state).toBe('IDLE');
    tracked = next;
  }
  expect(publishedAt).toEqual([7, 12, 17, 22, 27, 32]);
});

it('books no minutes without data, even if the state before was published later than its end in the log', () => {
  const before = { ...published(['OPERATING', 2.5, 'duration']), settledUntil: null };
  const log = stretches(['OPERATING', 1, 2], ['OFF', 4, 5]);
  expect(read(before, ['OFF', 1, 5], log).events.map(({ event }) => event.data)).toMatchObject([
    { state: 'OFF', startTime: at(4), previousStartTime: at(2.5), previousEndTime: at(2.5) },
  ]);
});

it('keeps what the settled log has in place of a state that ended before the same state began again', () => {
  const before = published(['IDLE', 0], ['IDLE', 34]);
  const [base, latest] = before.periods;
  const periods = [base!, { ...latest!, previousEndTime: at(27) }];
  const tracked = { ...before, periods, lastUpdateTime: at(35) };
  const log: Stretch[] = [
    ['IDLE', 0, 27],
    ['OPERATING', 34, 35],
  ];
  const { events } = read(tracked, ['IDLE', 1, 42], log);
  expect(events.map(({ event }) => event.data)).toMatchObject([
    { state: 'OPERATING', startTime: at(34), previousStartTime: at(0), previousEndTime: at(27) },
    { state: 'IDLE', startTime: at(41), previousStartTime: at(34), previousEndTime: at(35) },
  ]);
});

describe('settledUntil', () => {
  it('is null until a first period is settled', () => {
    const first = { ...published(['OFF', 0]), settledUntil: null };
    const log = stretches(['OFF', 0, 5]);
    expect(stateRecord(read(first, ['OFF', 4, 4], log).next)?.settledUntil).toBeNull();
    expect(stateRecord(read(first, ['OFF', 5, 5], log).next)?.settledUntil).toBe(at(0) + 1);
    expect(stateRecord(read(first, ['OFF', 60, 60], null).next)?.settledUntil).toBeNull();
  });

  it('is the last second in which a log rewritten later changes nothing', () => {
    const before = { ...published(['OFF', 0]), settledUntil: at(8) };
    const rewritten = stretches(['OFF', 0, 7], ['IDLE', 7, 8], ['OFF', 8, 14]);
    expect(rowsOf(poll(before, 14, ...rewritten))).toEqual([]);
  });

  it.each([
    ['is not before', 25, at(20) + 1],
    ['is after', 3, at(22)],
  ])('%s a start by the duration, where no log is to be had', (_, durationInMinutes, startTime) => {
    const before = { ...published(['OFF', 0]), settledUntil: at(20), lastUpdateTime: at(24) };
    const { events } = read(before, ['IDLE', durationInMinutes, 25], null);
    expect(events.map(({ event }) => event.data)).toMatchObject([{ state: 'IDLE', startTime }]);
  });

  it('ends a settled period when the log later gives its time to the lasting state', () => {
    // By the log, OPERATING has now lasted since minute 8.
    const log = stretches(['OPERATING', -5, 30]);
    const before = { ...published(['IDLE', 0], ['OPERATING', 8]), settledUntil: at(6) };
    expect(rowsOf(read(before, ['OPERATING', 22, 30], log))).toEqual([
      ['corrected', 'OPERATING', 6 + 1 / 60, 'IDLE 0', 1],
    ]);
  });

  it('is followed by no period that ended before it', () => {
    const log = stretches(['OPERATING', 0, 3], ['IDLE', 3, 5], ['IDLE', 9, 20]);
    const before = { ...published(['OPERATING', 0]), settledUntil: at(6) };
    const [event, ...others] = read(before, ['IDLE', 11, 20], log).events;
    expect(event?.event.data).toMatchObject({ startTime: at(9), previousEndTime: at(5) });
    expect(others).toEqual([]);
  });

  it('keeps the gap before a state whose start by the duration is slightly later', () => {
    const log = stretches(['OFF', 0, 3], ['OFF', 8, 10], ['IDLE', 10, 20]);
    const before = published(['OFF', 0], ['OFF', 8.5], ['IDLE', 10]);
    const periods = before.periods.map((it, index) =>
      index === 1 ? { ...it, previousEndTime: at(3) } : it,
    );
    const tracked = { ...before, periods, settledUntil: at(8) + 20 };
    expect(rowsOf(read(tracked, ['IDLE', 10, 20], log))).toEqual([]);
  });

  it('is followed by no period that has no time left', () => {
    const log = stretches(['OFF', 0, 5], ['OPERATING', 5, 8], ['IDLE', 8, 20]);
    const before = { ...published(['OFF', 0]), settledUntil: at(8) - 1 };
    expect(rowsOf(read(before, ['IDLE', 12, 20], log))).toEqual([
      ['changed', 'IDLE', 8, 'OFF 0', 0],
    ]);
  });

  it('is not before the start of a state that is dated back, as after a change of our clock', () => {
    const before = { ...published(['OFF', 0]), settledUntil: at(20), lastUpdateTime: null };
    expect(read(before, ['IDLE', 1, 15], null).events).toEqual([]);
  });
});
