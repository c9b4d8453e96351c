import fc from 'fast-check';
import { ShiftCalendar } from '#libs/clock';
import { type MachineState, STATE_EVENT_TYPES } from '#libs/contracts';
import {
  classify,
  dueFollowUps,
  type Evaluation,
  handOverOf,
  idOfEnd,
  Machine,
} from './machine.js';
import { type KnownEntry, refuseEntry } from './entries.js';
import { lengthOf, uncovered } from './periods.js';

const calendar = new ShiftCalendar({ timeZone: 'UTC', startTimes: ['06:00', '14:00', '22:00'] });
const SIX = Date.parse('2025-11-21T06:00:00Z') / 1000;
const SHIFT = { startTime: SIX, endTime: SIX + 8 * 3600 };
/** Minutes after six. */
const at = (minutes: number): number => SIX + minutes * 60;
const NOW = at(120);

let sent = 0;

function entry(
  startMinute: number,
  endMinute: number | null,
  more: Partial<KnownEntry> = {},
): KnownEntry {
  sent += 1;
  return {
    ...{
      entryId: `entry-${sent}`,
      machineId: 'M-1',
      reasonId: '22',
      isOurs: true,
      appliedAt: null,
    },
    startTime: at(startMinute),
    endTime: endMinute === null ? null : at(endMinute),
    ...{ station: 'Hall', operator: null, sentAt: at(endMinute ?? startMinute) + 30 },
    ...{ status: 'applied', code: null, detail: null, moved: false },
    source: { topic: 'reasons', partition: 0, offset: String(sent) },
    ...more,
  };
}

/** A machine that changed at these minutes after six, and has these reasons. */
function machine(changes: [MachineState, number][], entries: KnownEntry[] = []): Machine {
  const one = new Machine('M-1');
  changes.forEach(([state, minute], index) => {
    const [previousState, previousMinute] = changes[index - 1] ?? [null, 0];
    const previousStartTime = previousState === null ? null : at(previousMinute);
    one.timeline.apply(String(index), {
      type: STATE_EVENT_TYPES.changed,
      data: {
        ...{ machineId: 'M-1', factoryId: 'F-1', state, startTime: at(minute), revision: 0 },
        ...{ previousState, previousStartTime, startTimeSource: 'activityLog' },
        detectedAt: at(minute) + 60,
      },
    });
  });
  one.registry = { machineId: 'M-1', displayName: 'M', factoryId: 'F-1', factoryName: 'F' };
  for (const each of entries) one.addEntry(each);
  return one;
}

function evaluate(one: Machine, now = NOW): Evaluation {
  const window = { startTime: SIX - 8 * 3600, endTime: SHIFT.endTime };
  return one.evaluate({ now, calendar, stopThresholdSeconds: 120, window });
}

const openMinutes = (one: Machine, now = NOW): unknown[] =>
  evaluate(one, now).tile.openStops.map(({ startTime, endTime }) => [
    (startTime - SIX) / 60,
    endTime === null ? null : (endTime - SIX) / 60,
  ]);

describe('the stops of a machine that need a reason', () => {
  const changes: [MachineState, number][] = [
    ['OPERATING', 0],
    ['IDLE', 10],
    ['OPERATING', 20],
    ['IDLE', 30],
    ['OPERATING', 32],
    ['OFF', 100],
  ];

  it('are those longer than the threshold; the others are counted', () => {
    const { tile } = evaluate(machine(changes));
    expect(openMinutes(machine(changes))).toEqual([
      [10, 20],
      [100, null],
    ]);
    expect(tile.shortStops).toEqual({ count: 1, seconds: 120 });
  });

  it.each([
    ['applied', [[100, null]]],
    ['sent', [[100, null]]],
    ['deferred', [[100, null]]],
    [
      'rejected',
      [
        [10, 20],
        [100, null],
      ],
    ],
  ] as const)(
    'are no longer open with a reason that is %s, unless it is rejected',
    (status, open) => {
      expect(openMinutes(machine(changes, [entry(10, 20, { status })]))).toEqual(open);
    },
  );

  it('stay open for what a reason leaves of them', () => {
    expect(openMinutes(machine(changes, [entry(10, 15)]))).toEqual([
      [15, 20],
      [100, null],
    ]);
    expect(openMinutes(machine(changes, [entry(10, 19)]))).toEqual([[100, null]]);
  });

  it('become open when they have lasted for longer than the threshold, to the second', () => {
    const one = machine(changes);
    const { nextAt } = evaluate(one, at(101));
    expect(openMinutes(one, nextAt - 1)).toEqual([[10, 20]]);
    expect(openMinutes(one, nextAt)).toEqual([
      [10, 20],
      [100, null],
    ]);
  });

  it.each([
    ['a reason with an end', entry(100, 110)],
    ['one that went on to the end of the shift', entry(100, null, { sentAt: at(101) })],
  ])('are open again, once longer than the threshold, behind %s', (_, given) => {
    const one = machine(changes, [given]);
    const end = given.endTime ?? SHIFT.endTime;
    // looked at when something comes, and then each time it is due
    let now = at(105);
    while (now < end + 121) now = evaluate(one, now).nextAt;
    expect(now).toBe(end + 121);
    expect(openMinutes(one, now)).toContainEqual([(end - SIX) / 60, null]);
  });

  it('never hold time in which the machine operated or a reason applies, and miss no more than the threshold a piece', () => {
    const times = fc.integer({ min: 0, max: 119 });
    const states = fc.constantFrom<MachineState>('OPERATING', 'IDLE', 'OFF');
    const lives = fc
      .uniqueArray(fc.tuple(states, times), { selector: ([, minute]) => minute, minLength: 1 })
      .map((life) => life.sort(([, a], [, b]) => a - b));
    const spans = fc.array(fc.tuple(times, times));
    fc.assert(
      fc.property(lives, spans, (life, covers) => {
        const entries = covers.map(([a, b]) => entry(Math.min(a, b), Math.max(a, b) + 1));
        const one = machine(life, entries);
        const { tile, periods, classified } = evaluate(one);
        const open = tile.openStops.map((stop) => ({ ...stop, endTime: stop.endTime ?? NOW }));
        for (const stop of open) {
          expect(stop.endTime - stop.startTime).toBeGreaterThan(120);
          expect(uncovered(stop, classified)).toEqual([stop]);
        }
        const stopped = periods
          .filter(({ state }) => state === 'IDLE' || state === 'OFF')
          .map(({ startTime, endTime }) => ({ startTime, endTime: endTime ?? NOW }));
        const missing = stopped
          .flatMap((stop) => uncovered(stop, classified))
          .filter((part) => part.endTime - part.startTime > 120);
        expect(lengthOf(open)).toBe(lengthOf(missing));
      }),
    );
  });
});

describe('the reasons that apply', () => {
  const inBrief = (entries: KnownEntry[]): unknown[] =>
    classify(entries, calendar).map(({ startTime, endTime, entry: { reasonId } }) => [
      ...[reasonId, (startTime - SIX) / 60, (endTime - SIX) / 60],
    ]);

  it('go on to the end of the shift, where they have no end', () => {
    expect(inBrief([entry(10, null)])).toEqual([['22', 10, 480]]);
  });

  it('end when another one with an end is received', () => {
    const entries = [entry(10, null), entry(2, 5, { reasonId: '23', sentAt: at(60) })];
    expect(inBrief(entries)).toEqual([
      ['23', 2, 5],
      ['22', 10, 60],
    ]);
  });

  it('give way to later ones where they overlap', () => {
    expect(inBrief([entry(10, 30), entry(15, 20, { reasonId: '23' })])).toEqual([
      ['22', 10, 15],
      ['23', 15, 20],
      ['22', 20, 30],
    ]);
  });
});

describe('a reason that is still going', () => {
  const running: [MachineState, number][] = [
    ['IDLE', 10],
    ['OPERATING', 40],
  ];
  const due = (one: Machine, known: string[] = []): unknown[] =>
    dueFollowUps(evaluate(one), NOW, (entryId) => known.includes(entryId)).map(
      ({ endTime, open }) => [...[open.reasonId, endTime === null ? null : (endTime - SIX) / 60]],
    );

  it('is to be ended where its machine runs again, once', () => {
    const open = entry(10, null);
    const one = machine(running, [open]);
    expect(due(one)).toEqual([['22', 40]]);
    const [ending] = dueFollowUps(evaluate(one), NOW, () => false);
    expect(ending?.entryId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    expect(due(one, [ending!.entryId])).toEqual([]);
  });

  it('shows on the tile until then', () => {
    const open = entry(10, null);
    expect(evaluate(machine([['IDLE', 10]], [open])).tile.goingOn).toEqual({
      ...{ entryId: open.entryId, reasonId: '22', startTime: at(10) },
    });
  });

  it.each([
    ['was not sent by a terminal', entry(10, null, { isOurs: false })],
    ['was rejected', entry(10, null, { status: 'rejected' })],
    ['ended with its shift before', entry(-300, null)],
  ])('is left alone where it %s', (_, open) => {
    expect(due(machine(running, [open]))).toEqual([]);
  });

  it('is left alone where another one has taken its place, which is ended', () => {
    const entries = [entry(10, null), entry(10, null, { reasonId: '23' })];
    expect(due(machine(running, entries))).toEqual([['23', 40]]);
  });

  it('is left alone while its machine stands still', () => {
    expect(
      due(
        machine(
          [
            ['IDLE', 10],
            ['OFF', 40],
          ],
          [entry(10, null)],
        ),
      ),
    ).toEqual([]);
  });
});

describe('a reason that is still going when the service revises its stop', () => {
  /** The row of index 1 becomes a period from another minute on, of another state perhaps. */
  const revise = (one: Machine, state: MachineState, minute: number, detected = 60): Machine => {
    one.timeline.apply('revised', {
      type: STATE_EVENT_TYPES.corrected,
      data: {
        ...{ machineId: 'M-1', factoryId: 'F-1', state, startTime: at(minute), revision: 1 },
        ...{ previousState: 'OPERATING', previousStartTime: at(0), corrects: '1' },
        ...{ detectedAt: at(detected), startTimeSource: 'activityLog' },
      },
    });
    return one;
  };
  const stopped: [MachineState, number][] = [
    ['OPERATING', 0],
    ['IDLE', 10],
  ];
  const change = (one: Machine, state: MachineState, minute: number, previous: number): void => {
    one.timeline.apply(`change-${minute}`, {
      type: STATE_EVENT_TYPES.changed,
      data: {
        ...{ machineId: 'M-1', factoryId: 'F-1', state, startTime: at(minute), revision: 0 },
        ...{ previousState: state === 'IDLE' ? 'OPERATING' : 'IDLE' },
        ...{ previousStartTime: at(previous), startTimeSource: 'activityLog' },
        detectedAt: at(minute) + 60,
      },
    });
  };
  const due = (one: Machine, now = NOW): unknown[] =>
    dueFollowUps(evaluate(one, now), now, (entryId) =>
      one.entries.some((known) => known.entryId === entryId),
    ).map(({ endTime }) => (endTime === null ? null : (endTime - SIX) / 60));

  it('is to be ended a minute after its start where the machine ran throughout, once', () => {
    const open = entry(10, null);
    const one = revise(machine(stopped, [open]), 'OPERATING', 0);
    expect(due(one)).toEqual([11]);
    one.addEntry(entry(10, 11, { entryId: idOfEnd(open.entryId), sentAt: at(61) }));
    expect(due(one)).toEqual([]);
  });

  it('is not sent again when the machine stops later, and runs', () => {
    const open = entry(10, null);
    const one = revise(machine(stopped, [open]), 'OPERATING', 0);
    one.addEntry(entry(10, 11, { entryId: idOfEnd(open.entryId), sentAt: at(61) }));
    change(one, 'IDLE', 70, 0);
    expect(due(one)).toEqual([]);
    change(one, 'OPERATING', 80, 70);
    expect(due(one)).toEqual([]);
  });

  it('is to be ended where the stop was before it', () => {
    const one = revise(
      machine([...stopped, ['OPERATING', 40]], [entry(10, null, { sentAt: at(45) })]),
      'IDLE',
      4,
      50,
    );
    one.timeline.apply('revised-2', {
      type: STATE_EVENT_TYPES.corrected,
      data: {
        ...{ machineId: 'M-1', factoryId: 'F-1', state: 'OPERATING', startTime: at(7) },
        ...{ previousState: 'IDLE', previousStartTime: at(4), corrects: '2', revision: 1 },
        ...{ detectedAt: at(50), startTimeSource: 'activityLog' },
      },
    });
    expect(due(one)).toEqual([11]);
  });

  it('goes on where its stop began later, until the machine runs', () => {
    const one = revise(machine(stopped, [entry(10, null)]), 'IDLE', 14);
    expect(due(one)).toEqual([]);
    change(one, 'OPERATING', 80, 14);
    expect(due(one)).toEqual([80]);
  });

  it('goes on where its stop began earlier', () => {
    expect(due(revise(machine(stopped, [entry(10, null)]), 'IDLE', 4))).toEqual([]);
  });

  it.each([
    ['no stop was revised', machine([['OPERATING', 0]], [entry(10, null)])],
    [
      'it was given after the stop had been taken back',
      revise(machine(stopped, [entry(10, null, { sentAt: at(61) })]), 'OPERATING', 0),
    ],
    [
      'the start of a run was revised',
      revise(
        machine(
          [
            ['OFF', -10],
            ['OPERATING', 10],
          ],
          [entry(10, null)],
        ),
        'OPERATING',
        5,
      ),
    ],
  ])('is left alone over time in which the machine ran where %s', (_, one) => {
    expect(evaluate(one).periods.at(-1)).toMatchObject({ state: 'OPERATING', endTime: null });
    expect(due(one)).toEqual([]);
  });
});

describe('a reason that is still going while an earlier stop is explained', () => {
  const standing: [MachineState, number][] = [
    ['IDLE', 2],
    ['OPERATING', 5],
    ['IDLE', 10],
  ];
  const again = (...entries: KnownEntry[]): unknown[] =>
    dueFollowUps(evaluate(machine(standing, entries)), NOW, () => false).map(
      ({ endTime, open }) => [open.reasonId, endTime],
    );

  it('is sent anew, for the service has ended it', () => {
    const open = entry(10, null);
    const earlier = entry(2, 5, { reasonId: '23', sentAt: at(60) });
    expect(again(open, earlier)).toEqual([['22', null]]);
    const anew = entry(10, null, { sentAt: at(60) });
    const [due] = dueFollowUps(evaluate(machine(standing, [open, earlier])), NOW, () => false);
    const entries = [open, earlier, { ...anew, entryId: due!.entryId }];
    expect(dueFollowUps(evaluate(machine(standing, entries)), NOW, () => false)).toEqual([]);
  });

  it.each([
    ['its own stop was split', [entry(10, null), entry(10, 30, { sentAt: at(60) })]],
    [
      'another one has taken its place',
      [entry(10, null), entry(2, 5, { sentAt: at(60) }), entry(60, null)],
    ],
    ['its shift is over', [entry(-300, null), entry(-400, -350, { sentAt: at(-200) })]],
  ])('is left alone where %s', (_, entries) => {
    expect(again(...entries)).toEqual([]);
  });
});

describe('an entry', () => {
  it('is marked when a correction moves the stop it was for', () => {
    const one = machine([
      ['OPERATING', 0],
      ['IDLE', 10],
      ['OPERATING', 20],
    ]);
    const [early, other] = [entry(10, 20), entry(60, 70)];
    for (const each of [early, other]) one.addEntry(each);
    one.timeline.apply('correction', {
      type: STATE_EVENT_TYPES.corrected,
      data: {
        ...{ machineId: 'M-1', factoryId: 'F-1', state: 'IDLE', startTime: at(14), revision: 1 },
        ...{ previousState: 'OPERATING', previousStartTime: at(0), corrects: '1' },
        ...{ detectedAt: at(30), startTimeSource: 'activityLog' },
      },
    });
    expect(one.markMoved()).toEqual([early]);
    expect(one.markMoved()).toEqual([]);
    expect(other.moved).toBe(false);
  });

  it('counts once for a stop among the reasons used most', () => {
    const more = (reasonId: string): Partial<KnownEntry> => ({ reasonId });
    const entries = [entry(1, 2, more('a')), entry(10, null, more('b')), entry(10, 20, more('b'))];
    entries.push(entry(30, 31, more('a')), entry(40, 41, { reasonId: 'c', status: 'rejected' }));
    expect(machine([], entries).favourites()).toEqual(['a', 'b']);
  });

  it('is refused over time in which the machine operated, but for a minute, and unless it is meant', () => {
    const one = machine([
      ['OPERATING', 0],
      ['IDLE', 10],
      ['OPERATING', 20],
    ]);
    const { periods } = evaluate(one);
    const refused = (start: number, end: number | null, overOperating?: true): unknown => {
      const what = { entryId: 'e', machineId: 'M-1', reasonId: '22', startTime: at(start) };
      const endTime = end === null ? null : at(end);
      const sending = { ...what, endTime, ...(overOperating && { overOperating }) };
      return refuseEntry(sending, one, periods, NOW)?.code;
    };
    expect(refused(9, 20)).toBeUndefined();
    expect(refused(8, 20)).toBe('over-operating');
    expect(refused(8, 20, true)).toBeUndefined();
    expect(refused(10, null)).toBeUndefined();
    expect(refused(30, null)).toBe('over-operating');
  });
});

describe('a hand-over', () => {
  it('adds up what is explained of a shift, and what is not', () => {
    const one = machine(
      [
        ['OPERATING', -60],
        ['IDLE', -10],
        ['OPERATING', 20],
        ['OFF', 60],
      ],
      [entry(5, 20)],
    );
    expect(handOverOf(one, evaluate(one), SHIFT, NOW)).toMatchObject({
      stoppedSeconds: (20 + 60) * 60,
      unexplainedSeconds: (5 + 60) * 60,
      reasons: [{ reasonId: '22', seconds: 15 * 60 }],
      openStops: [
        { startTime: at(-10), endTime: at(5) },
        { startTime: at(60), endTime: null },
      ],
    });
  });

  it('counts short stops, and what reasons leave of long ones, apart from what needs a reason', () => {
    const one = machine(
      [
        ['OPERATING', 0],
        ['IDLE', 10],
        ['OPERATING', 12],
        ['IDLE', 20],
        ['OPERATING', 30],
        ['OFF', 60],
        ['OPERATING', 70],
      ],
      [entry(20, 29)],
    );
    expect(handOverOf(one, evaluate(one), SHIFT, NOW)).toMatchObject({
      ...{ stoppedSeconds: 22 * 60, unexplainedSeconds: 10 * 60, shortSeconds: 3 * 60 },
      reasons: [{ reasonId: '22', seconds: 9 * 60 }],
    });
  });

  it('leaves out machines without stops and notes', () => {
    const one = machine([['OPERATING', 0]]);
    expect(handOverOf(one, evaluate(one), SHIFT, NOW)).toBeUndefined();
  });
});
