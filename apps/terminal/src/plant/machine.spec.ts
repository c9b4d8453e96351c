import fc from 'fast-check';
import { ShiftCalendar } from '#libs/clock';
import {
  type MachineState,
  OUTCOME_TYPES,
  STATE_EVENT_TYPES,
  type StateChanged,
  TOPICS,
} from '#libs/contracts';
import type { Entry } from '../api/index.js';
import {
  classify,
  dueFollowUps,
  type Evaluation,
  handOverOf,
  idOfEnd,
  knownEndOf,
  Machine,
} from './machine.js';
import { refuseEntry } from './entries.js';
import { lengthOf, uncovered } from './periods.js';
import { Plant } from './plant.js';

const calendar = new ShiftCalendar({ timeZone: 'UTC', startTimes: ['06:00', '14:00', '22:00'] });
const SIX = Date.parse('2025-11-21T06:00:00Z') / 1000;
const SHIFT = { startTime: SIX, endTime: SIX + 8 * 3600 };
/** Time at a number of minutes after six. */
const at = (minutes: number): number => SIX + minutes * 60;
const NOW = at(120);

let sent = 0;

function entry(startMinute: number, endMinute: number | null, more: Partial<Entry> = {}): Entry {
  sent += 1;
  return {
    ...{ entryId: `entry-${sent}`, machineId: 'M-1', reasonId: '22', appliedAt: null },
    startTime: at(startMinute),
    endTime: endMinute === null ? null : at(endMinute),
    ...{ station: 'Hall', operator: null, sentAt: at(endMinute ?? startMinute) + 90 },
    ...{ status: 'applied', code: null, detail: null, moved: false },
    source: { topic: 'reasons', partition: 0, offset: String(sent) },
    ...more,
  };
}

type Change = [MachineState, number];

/** Parses `OPERATING 0, IDLE 10`: states, and the minutes after six at which they began. */
function life(text: string): Change[] {
  return text.split(', ').map((part): Change => {
    const [state, minute] = part.split(' ');
    return [state as MachineState, Number(minute)];
  });
}

/** In minutes after six: `10-20`, or `10-` without an end. */
function inBrief({ startTime, endTime }: { startTime: number; endTime: number | null }): string {
  return `${(startTime - SIX) / 60}-${endTime === null ? '' : (endTime - SIX) / 60}`;
}

function dataOf([state, minute]: Change, previous?: Change, known = minute + 1): StateChanged {
  const [previousState, previousMinute] = previous ?? [null, 0];
  return {
    ...{ machineId: 'M-1', factoryId: 'F-1', state, startTime: at(minute), revision: 0 },
    ...{ previousState, previousStartTime: previous === undefined ? null : at(previousMinute) },
    ...{ startTimeSource: 'activityLog', detectedAt: at(known) },
  };
}

/** Applies a change to a state; the event's id is its minute. */
function change(one: Machine, period: Change, previous?: Change, known?: number): void {
  const data = dataOf(period, previous, known);
  one.timeline.applyEvent(`${period[1]}`, { type: STATE_EVENT_TYPES.changed, data });
}

/** Corrects the period that began at a minute, as known an hour after six. */
function correct(
  one: Machine,
  minute: number,
  period: Change,
  { previous = ['OPERATING', 0] as Change, known = 60 } = {},
): Machine {
  const corrects = `${minute}`;
  const data = { ...dataOf(period, previous, known), revision: 1, corrects };
  one.timeline.applyEvent(`corrected-${minute}`, { type: STATE_EVENT_TYPES.corrected, data });
  return one;
}

/** A machine with these periods and reasons. */
function machine(changes: Change[] | string, entries: Entry[] = []): Machine {
  const one = new Machine('M-1');
  const lived = typeof changes === 'string' ? life(changes) : changes;
  lived.forEach((each, index) => change(one, each, lived[index - 1]));
  one.registry = { machineId: 'M-1', displayName: 'M', factoryId: 'F-1', factoryName: 'F' };
  for (const each of entries) one.addEntry(each);
  return one;
}

function evaluate(one: Machine, now = NOW): Evaluation {
  const window = { startTime: SIX - 8 * 3600, endTime: SHIFT.endTime };
  return one.evaluate({ now, calendar, stopThresholdSeconds: 120, window });
}

const openMinutes = (one: Machine, now = NOW): string[] =>
  evaluate(one, now).tile.openStops.map(inBrief);

describe('the stops of a machine that need a reason', () => {
  const changes = 'OPERATING 0, IDLE 10, OPERATING 20, IDLE 30, OPERATING 32, OFF 100';

  it('are those longer than the threshold; the others are counted', () => {
    const { tile } = evaluate(machine(changes));
    expect(openMinutes(machine(changes))).toEqual(['10-20', '100-']);
    expect(tile.shortStops).toEqual({ count: 1, seconds: 120 });
  });

  it.each([
    ['applied', ['100-']],
    ['sent', ['100-']],
    ['deferred', ['100-']],
    ['rejected', ['10-20', '100-']],
  ] as const)(
    'are no longer open with a reason that is %s, unless it is rejected',
    (status, open) => {
      expect(openMinutes(machine(changes, [entry(10, 20, { status })]))).toEqual(open);
    },
  );

  it('stay open in the parts that a reason does not cover', () => {
    expect(openMinutes(machine(changes, [entry(10, 15)]))).toEqual(['15-20', '100-']);
    expect(openMinutes(machine(changes, [entry(10, 19)]))).toEqual(['100-']);
  });

  it('become open when they have lasted for longer than the threshold, to the second', () => {
    const one = machine(changes);
    const { nextAt } = evaluate(one, at(101));
    expect(openMinutes(one, nextAt - 1)).toEqual(['10-20']);
    expect(openMinutes(one, nextAt)).toEqual(['10-20', '100-']);
  });

  it.each([
    ['a reason with an end', entry(100, 110)],
    ['an open-ended one until the end of the shift', entry(100, null, { sentAt: at(101) })],
  ])('are open again, once longer than the threshold, after %s', (_, given) => {
    const one = machine(changes, [given]);
    const end = given.endTime ?? SHIFT.endTime;
    // evaluated when a record arrives, and then whenever it is due
    let now = at(105);
    while (now < end + 121) now = evaluate(one, now).nextAt;
    expect(now).toBe(end + 121);
    expect(openMinutes(one, now)).toContain(inBrief({ startTime: end, endTime: null }));
  });

  it('contain no time in which the machine operated or a reason applies, and miss parts up to the threshold only', () => {
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
  const other = { reasonId: '23', sentAt: at(60) };

  it.each([
    ['last until the end of the shift if they are open-ended', [entry(10, null)], ['22 10-480']],
    [
      'give way to later ones, and apply again where an open-ended one of these is ended by another',
      [
        entry(10, 30),
        entry(15, null, { ...other, sentAt: at(16) }),
        entry(15, 18, { ...other, sentAt: at(20) }),
      ],
      ['22 10-15', '23 15-18', '23 18-20', '22 20-30'],
    ],
  ])('%s', (_, entries, applying) => {
    const spans = classify(entries, calendar);
    expect(spans.map((span) => `${span.entry.reasonId} ${inBrief(span)}`)).toEqual(applying);
  });
});

describe('the classifications that pages receive', () => {
  it('contain an open-ended reason up to its end, once it was sent again with that', () => {
    const entries = [entry(10, null), entry(10, 40, { sentAt: at(60) })];
    const one = machine('IDLE 10', entries);
    const { classifications } = one.machineView(evaluate(one), SHIFT);
    expect(classifications).toEqual([
      { entryId: entries[1]!.entryId, startTime: at(10), endTime: at(40) },
    ]);
  });
});

/** The follow-ups that are due for a machine, each with its end in minutes after six, or `again`. */
const due = (one: Machine, known = one.entries.map(({ entryId }) => entryId)): string[] =>
  dueFollowUps(one, evaluate(one), NOW, (entryId) => known.includes(entryId)).map(
    ({ open, endTime }) => `${open.reasonId} ${endTime === null ? 'again' : (endTime - SIX) / 60}`,
  );

describe('an open-ended reason', () => {
  const running = 'IDLE 10, OPERATING 40';
  it('is to be ended where its machine runs again, once', () => {
    const open = entry(10, null);
    const one = machine(running, [open]);
    expect(due(one)).toEqual(['22 40']);
    const [ending] = dueFollowUps(one, evaluate(one), NOW, () => false);
    expect(ending?.entryId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    expect(due(one, [ending!.entryId])).toEqual([]);
  });

  it('is shown on the tile while it applies', () => {
    const open = entry(10, null);
    expect(evaluate(machine('IDLE 10', [open])).tile.goingOn).toEqual({
      ...{ entryId: open.entryId, reasonId: '22', startTime: at(10) },
    });
  });

  it.each([
    ['was not sent by a terminal', entry(10, null, { station: null })],
    ['was rejected', entry(10, null, { status: 'rejected' })],
    ['ended with an earlier shift', entry(-300, null)],
  ])('needs no follow-up if it %s', (_, open) => {
    expect(due(machine(running, [open]))).toEqual([]);
  });

  it('needs no follow-up if another one has replaced it; that one does', () => {
    const entries = [entry(10, null), entry(10, null, { reasonId: '23' })];
    expect(due(machine(running, entries))).toEqual(['23 40']);
  });

  it('needs no follow-up while its machine is stopped', () => {
    expect(due(machine('IDLE 10, OFF 40', [entry(10, null)]))).toEqual([]);
  });
});

describe('an open-ended reason when the service revises its stop', () => {
  const RAN: Change = ['OPERATING', 0];
  const stopped: Change[] = [RAN, ['IDLE', 10]];
  it('is to be ended a minute after its start if the machine ran throughout, once, though it stops later', () => {
    const open = entry(10, null);
    const one = correct(machine(stopped, [open]), 10, RAN);
    expect(due(one)).toEqual(['22 11']);
    change(one, ['IDLE', 70], RAN);
    expect(due(one)).toEqual(['22 11']);
    one.addEntry(entry(10, 11, { entryId: idOfEnd(open.entryId), sentAt: at(61) }));
    expect(due(one)).toEqual([]);
    change(one, ['OPERATING', 80], ['IDLE', 70]);
    expect(due(one)).toEqual([]);
  });

  const found = life('OPERATING 15, IDLE 40');

  it.each([
    ['a part of it', [], [entry(10, 20), entry(20, null)]],
    ['the rest after a run found in it', found, [entry(40, null, { sentAt: at(52) })]],
    ['time in which a run was found', found, [entry(20, null)]],
  ])('is to be ended so if it was for %s', (_, split, entries) => {
    const one = machine(stopped, entries);
    split.forEach((each, index) => change(one, each, split[index - 1] ?? ['IDLE', 10], 50));
    for (const [, minute] of [...stopped.slice(1), ...split]) correct(one, minute, RAN);
    expect(due(one)).toEqual([`22 ${(entries.at(-1)!.startTime - SIX) / 60 + 1}`]);
  });

  it('is to be ended so if the stop was before it', () => {
    const entries = [entry(10, null, { sentAt: at(45) })];
    const one = machine([...stopped, ['OPERATING', 40]], entries);
    correct(one, 10, ['IDLE', 4], { known: 50 });
    correct(one, 40, ['OPERATING', 7], { previous: ['IDLE', 4], known: 50 });
    expect(due(one)).toEqual(['22 11']);
  });

  it('has that end, if it was given before and comes late, and otherwise the next run', () => {
    const one = correct(machine(stopped), 10, RAN);
    for (const [index, each] of life('IDLE 30, OPERATING 40').entries()) {
      change(one, each, index === 0 ? RAN : ['IDLE', 30]);
    }
    const { periods } = evaluate(one);
    expect(knownEndOf(one, periods, at(10), at(12))).toBe(at(11));
    expect(knownEndOf(one, periods, at(30), at(32))).toBe(at(40));
  });

  it('continues if its stop began later, until the machine runs', () => {
    const one = correct(machine(stopped, [entry(10, null)]), 10, ['IDLE', 14]);
    expect(due(one)).toEqual([]);
    change(one, ['OPERATING', 80], ['IDLE', 14]);
    expect(due(one)).toEqual(['22 80']);
  });

  it.each([
    ['its stop began earlier', correct(machine(stopped, [entry(10, null)]), 10, ['IDLE', 4])],
    ['no stop was revised', machine([RAN], [entry(10, null)])],
    [
      'it was given after the stop had been revised away',
      correct(machine(stopped, [entry(10, null, { sentAt: at(61) })]), 10, RAN),
    ],
    [
      'the start of a run was revised',
      correct(machine('OFF -10, OPERATING 10', [entry(10, null)]), 10, ['OPERATING', 5]),
    ],
  ])('needs no follow-up if %s', (_, one) => {
    expect(due(one)).toEqual([]);
  });
});

describe('an open-ended reason while an earlier stop is explained', () => {
  const again = (...entries: Entry[]): string[] =>
    due(machine('IDLE 2, OPERATING 5, IDLE 10', entries), []);

  it('is sent again, because the service has ended it', () => {
    const open = entry(10, null);
    const earlier = entry(2, 5, { reasonId: '23', sentAt: at(60) });
    expect(again(open, earlier)).toEqual(['22 again']);
    expect(again(open, earlier, entry(10, null, { sentAt: at(60) }))).toEqual([]);
  });

  it.each([
    ['its own stop was split', [entry(10, null), entry(10, 30, { sentAt: at(60) })]],
    [
      'another one has replaced it',
      [entry(10, null), entry(2, 5, { sentAt: at(60) }), entry(60, null)],
    ],
    ['its shift is over', [entry(-300, null), entry(-400, -350, { sentAt: at(-200) })]],
  ])('needs no follow-up if %s', (_, entries) => {
    expect(again(...entries)).toEqual([]);
  });
});

describe('an entry', () => {
  it('is marked when a correction moves the stop it was for', () => {
    const one = machine('OPERATING 0, IDLE 10, OPERATING 20');
    const [early, other] = [entry(10, 20), entry(60, 70)];
    for (const each of [early, other]) one.addEntry(each);
    correct(one, 10, ['IDLE', 14], { known: 30 });
    expect(one.markMoved()).toEqual([early]);
    expect(one.markMoved()).toEqual([]);
    expect(other.moved).toBe(false);
  });

  it('counts once for a stop among the reasons used most', () => {
    const more = (reasonId: string): Partial<Entry> => ({ reasonId });
    const entries = [entry(1, 2, more('a')), entry(10, null, more('b')), entry(10, 20, more('b'))];
    entries.push(entry(30, 31, more('a')), entry(40, 41, { reasonId: 'c', status: 'rejected' }));
    expect(machine([], entries).favourites()).toEqual(['a', 'b']);
  });

  it('is refused over more than a minute in which the machine operated, unless that is confirmed', () => {
    const one = machine('OPERATING 0, IDLE 10, OPERATING 20');
    const { periods } = evaluate(one);
    const refused = (start: number, end: number | null, overOperating?: true): unknown => {
      const what = { entryId: 'e', machineId: 'M-1', reasonId: '22', startTime: at(start) };
      const endTime = end === null ? null : at(end);
      const sending = { ...what, endTime, ...(overOperating && { overOperating }) };
      return refuseEntry(sending, one, periods, NOW, at(-960))?.code;
    };
    expect(refused(9, 20)).toBeUndefined();
    expect(refused(8, 20)).toBe('over-operating');
    expect(refused(8, 20, true)).toBeUndefined();
    expect(refused(10, null)).toBeUndefined();
    expect(refused(30, null)).toBe('over-operating');
  });

  it('is refused if it is open-ended and the end of its stop is not remembered', () => {
    const one = machine('OFF -500, OPERATING 0');
    const { periods } = evaluate(one);
    const refused = (start: number, end: number | null, rememberedFrom: number): unknown => {
      const what = { entryId: 'e', machineId: 'M-1', reasonId: '22', startTime: at(start) };
      const endTime = end === null ? null : at(end);
      return refuseEntry({ ...what, endTime }, one, periods, NOW, at(rememberedFrom))?.code;
    };
    expect(refused(-600, null, -480)).toBe('end-unknown');
    expect(refused(-600, -550, -480)).toBeUndefined();
    expect(refused(-500, null, -480)).toBeUndefined();
    expect(refused(-501, null, -960)).toBeUndefined();
  });
});

describe('a hand-over', () => {
  it('adds up the explained and the unexplained time of a shift', () => {
    const one = machine('OPERATING -60, IDLE -10, OPERATING 20, OFF 60', [entry(5, 20)]);
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

  it('counts short stops, and short rests of long ones, apart from stops that need a reason', () => {
    const lived = 'OPERATING 0, IDLE 10, OPERATING 12, IDLE 20, OPERATING 30, OFF 60, OPERATING 70';
    const one = machine(lived, [entry(20, 29)]);
    expect(handOverOf(one, evaluate(one), SHIFT, NOW)).toMatchObject({
      ...{ stoppedSeconds: 22 * 60, unexplainedSeconds: 10 * 60, shortSeconds: 3 * 60 },
      reasons: [{ reasonId: '22', seconds: 9 * 60 }],
    });
  });

  it('leaves out machines without stops and notes', () => {
    const one = machine('OPERATING 0');
    expect(handOverOf(one, evaluate(one), SHIFT, NOW)).toBeUndefined();
  });
});

const STOPPED_AT = SIX + 3600;

function plantWith(state: MachineState, startTime: number): Plant {
  const plant = new Plant({
    ...{ topicPrefix: '', calendar, stopThresholdSeconds: 120 },
    plantSeconds: (timestampMs) => timestampMs / 1000,
  });
  const latest = { machineId: 'M-1', factoryId: 'F-1', state, startTime, observation: 'ok' };
  plant.applyRecord({
    ...{ topic: TOPICS.states, partition: 0, offset: 0, timestamp: '0', headers: [] },
    ...{ key: Buffer.from('M-1'), value: Buffer.from(JSON.stringify(latest)) },
  });
  return plant;
}

describe('a stop that begins to need a reason', () => {
  it('is published as a change, though a request evaluated the machine first', () => {
    const plant = plantWith('IDLE', STOPPED_AT);
    const machine = plant.machines.get('M-1')!;
    expect([...plant.takeChanges().machineIds]).toEqual(['M-1']);
    expect(plant.evaluationOf(machine, STOPPED_AT + 60).tile.openStops).toEqual([]);

    expect(plant.evaluationOf(machine, STOPPED_AT + 121).tile.openStops).toHaveLength(1);

    plant.markDue(STOPPED_AT + 121);
    expect([...plant.takeChanges().machineIds]).toEqual(['M-1']);
    plant.markDue(STOPPED_AT + 122);
    expect([...plant.takeChanges().machineIds]).toEqual([]);
  });
});

describe('a reason that was sent twice', () => {
  it('is forgotten at both of its places', () => {
    const plantSeconds = (timestampMs: number): number => timestampMs / 1000;
    const plant = new Plant({ topicPrefix: '', calendar, stopThresholdSeconds: 120, plantSeconds });
    const record = {
      ...{ topic: TOPICS.downtimeReasons, partition: 0, key: null, unreadable: undefined },
    };
    const headers = Object.entries({ 'message-id': 'E-1', ce_source: '/machine-terminal/Hall' });
    const reason = { machineId: 'M-1', reasonId: '22', startTime: at(0), endTime: at(10) };
    const value = Buffer.from(JSON.stringify(reason));
    for (const offset of [0, 1]) {
      plant.applyRecord({ ...record, offset, headers, value, timestamp: String(at(11) * 1000) });
    }
    plant.forgetRecordsBefore(NOW);
    plant.takeChanges();
    const source = { topic: record.topic, partition: 0, offset: '1' };
    plant.applyRecord({
      ...{ ...record, topic: TOPICS.commandOutcomes, offset: 0, timestamp: '0' },
      headers: [['ce_type', OUTCOME_TYPES.downtimeReasonApplied]],
      value: Buffer.from(JSON.stringify({ source })),
    });
    expect(plant.takeChanges().entries.size).toBe(0);
  });
});
