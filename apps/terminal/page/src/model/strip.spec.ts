import fc from 'fast-check';
import type { Entry, MachineState } from '../../../src/api/index.js';
import type { OutgoingReason } from './outgoing.js';
import { ENTRY, REASON } from './testing/entries.js';
import {
  appliesIn,
  barsOf,
  currentEntries,
  entriesIn,
  pan,
  reasonBars,
  ticksOf,
  zoom,
} from './strip.js';
import { operatingSeconds, overlap, type Period, secondsOf, subtractPeriods } from './periods.js';
import { canSplit, snapSplit, splitAt } from './split.js';

const shift = { startTime: 0, endTime: 28_800 };
const next = { startTime: 28_800, endTime: 57_600 };

const inState =
  <S extends MachineState>(state: S) =>
  (startTime: number, endTime: number | null, revision = 0) => ({
    ...{ state, startTime, endTime, revision },
  });
const [idle, operating] = [inState('IDLE'), inState('OPERATING')];

describe('the strip of a shift', () => {
  it('leaves no gap: time without a known state is a bar of its own', () => {
    const bars = barsOf([operating(600, 1200), idle(1800, null)], shift, 3600, []);
    expect(bars.map(({ state, startTime, endTime }) => [state, startTime, endTime])).toEqual([
      [null, 0, 600],
      ['OPERATING', 600, 1200],
      [null, 1200, 1800],
      ['IDLE', 1800, 3600],
    ]);
  });

  it('moves the bar that a correction moves, rather than drawing another', () => {
    const before = barsOf([operating(0, 1200), idle(1200, null)], shift, 3600, []);
    const after = barsOf([operating(0, 1080, 1), idle(1080, null, 1)], shift, 3660, before);
    expect(after.map(({ key }) => key)).toEqual(before.map(({ key }) => key));
  });

  it('gives a stop that a correction inserts a key of its own', () => {
    const before = barsOf([operating(0, null)], shift, 3600, []);
    const after = barsOf(
      [operating(0, 600), idle(600, 900, 1), operating(900, null)],
      shift,
      3600,
      before,
    );
    const keys = after.map(({ key }) => key);
    expect(new Set(keys).size).toBe(3);
    // the longest piece keeps its key
    expect(keys.filter((key) => key === before[0]?.key)).toHaveLength(1);
  });

  describe('shows the reasons', () => {
    const sent = (entryId: string, startTime: number, endTime: number | null): Entry => ({
      ...{ ...ENTRY, entryId, startTime, endTime, status: 'applied' },
    });
    const view = {
      entries: [sent('a', 0, 1200), sent('open', 1800, null)],
      classifications: [
        { entryId: 'a', startTime: 0, endTime: 1200 },
        { entryId: 'open', startTime: 1800, endTime: 28_800 },
      ],
    };
    const local = (more: Partial<OutgoingReason>): OutgoingReason => ({ ...REASON, ...more });
    const inBrief = (entries: OutgoingReason[], of = shift, now = 3600): unknown[] =>
      reasonBars(view, entries, of, now, [next, shift]).map(
        ({ entryId, startTime, endTime, isOpen }) => [entryId, startTime, endTime, isOpen],
      );

    it('as the server has them, an open-ended one until now', () => {
      const known = [
        ['a', 0, 1200, false],
        ['open', 1800, 3600, true],
      ];
      expect(inBrief([])).toEqual(known);
      expect(inBrief([local({ id: 'a', startTime: 0, endTime: 600 })])).toEqual(known);
      expect(inBrief([local({ startTime: 0, endTime: 600, status: 'refused' })])).toEqual(known);
    });

    it('and over them those that it does not know yet', () => {
      expect(inBrief([local({ startTime: 300, endTime: 600 })])).toEqual([
        ['a', 0, 300, false],
        ['e-1', 300, 600, false],
        ['a', 600, 1200, false],
        ['open', 1800, 3600, true],
      ]);
    });

    it.each([
      ['waiting', [['e-1', 28_800, 30_000, true]]],
      ['sent', []],
    ] as const)('in this shift an open-ended one of the last that is %s', (status, expected) => {
      const earlier = local({ startTime: 2000, endTime: null, madeAt: 2000, status });
      expect(inBrief([earlier], next, 30_000)).toEqual(expected);
    });
  });

  it.each<[string, Partial<Entry>, [number, number][], [number, number | null][]]>([
    ['up to now while it continues', {}, [[600, 28_800]], [[600, null]]],
    ['up to where it was ended', {}, [[600, 3000]], [[600, 3000]]],
    [
      'in what a later one leaves of it',
      {},
      [
        [600, 1200],
        [1800, 2000],
      ],
      [
        [600, 1200],
        [1800, 2000],
      ],
    ],
    ['never, where a later one covers it whole', {}, [], []],
    ['for what it was given, where it was refused', { status: 'rejected' }, [], [[600, null]]],
    ['for what it was given, where it has an end', { endTime: 900 }, [[700, 900]], [[600, 900]]],
  ])('lets an open-ended reason apply %s', (_, more, spans, expected) => {
    const classifications = spans.map(([startTime, endTime]) => ({
      ...{ entryId: 'e-1', startTime, endTime },
    }));
    const others = [{ entryId: 'other', startTime: 2000, endTime: 2400 }, ...classifications];
    const applies = appliesIn({ ...ENTRY, status: 'applied', ...more }, others, 3600);
    expect(applies.map(({ startTime, endTime }) => [startTime, endTime])).toEqual(expected);
  });

  it('does not list a reason in the shift after its end', () => {
    const open = { startTime: 0, endTime: null, sentAt: 60, status: 'applied' as const };
    const followUp = { ...open, endTime: 900, sentAt: 1000 };
    expect(entriesIn(shift, [open, followUp])).toEqual([followUp]);
    expect(entriesIn(next, [open, followUp])).toEqual([]);
    expect(entriesIn(next, [open])).toEqual([open]);
  });

  it('lists a reason that was sent again from the same start in its latest form, and refused ones', () => {
    const applied = { startTime: 0, status: 'applied' as const };
    const entries = [
      { ...applied, entryId: 'open', sentAt: 10 },
      { ...applied, entryId: 'refused', sentAt: 15, status: 'rejected' as const },
      { ...applied, entryId: 'ended', sentAt: 20 },
      { ...applied, entryId: 'other', sentAt: 5, startTime: 600 },
    ];
    const current = currentEntries(entries).map(({ entryId }) => entryId);
    expect(current).toEqual(['ended', 'refused', 'other']);
  });

  it('never leaves the shift, however it is zoomed and moved', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            factor: fc.double({ min: 0.1, max: 5, noNaN: true }),
            share: fc.double({ min: 0, max: 1, noNaN: true }),
            by: fc.integer({ min: -9000, max: 9000 }),
          }),
        ),
        (steps) => {
          let view = shift;
          for (const { factor, share, by } of steps) {
            const around = view.startTime + share * (view.endTime - view.startTime);
            view = pan(zoom(view, factor, around, shift), by, shift);
          }
          expect(view.startTime).toBeGreaterThanOrEqual(shift.startTime - 1e-6);
          expect(view.endTime).toBeLessThanOrEqual(shift.endTime + 1e-6);
          expect(view.endTime - view.startTime).toBeGreaterThanOrEqual(900 - 1e-6);
        },
      ),
    );
  });

  it('labels its axis with as many round times as fit', () => {
    expect(ticksOf(shift, 1200)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].map((hour) => hour * 3600));
    expect(ticksOf(shift, 300)).toEqual([0, 4, 8].map((hour) => hour * 3600));
  });
});

const period = fc
  .record({
    startTime: fc.integer({ min: 0, max: 500 }),
    length: fc.integer({ min: 1, max: 200 }),
    isOpen: fc.boolean(),
  })
  .map(({ startTime, length, isOpen }): Period => ({
    startTime,
    endTime: isOpen ? null : startTime + length,
  }));

const covers = (periods: readonly Period[], at: number): boolean =>
  periods.some(({ startTime, endTime }) => startTime <= at && at < (endTime ?? Infinity));

describe('periods', () => {
  it('leave of one another exactly what none of them covers', () => {
    fc.assert(
      fc.property(
        period,
        fc.array(period, { maxLength: 5 }),
        fc.integer({ min: 0, max: 800 }),
        (whole, others, at) => {
          expect(covers(subtractPeriods(whole, others), at)).toBe(
            covers([whole], at) && !covers(others, at),
          );
        },
      ),
    );
  });

  it('do not overlap where one ends as the other begins', () => {
    expect(overlap({ startTime: 0, endTime: 60 }, { startTime: 60, endTime: null })).toBe(false);
  });

  it('last until now while they go on', () => {
    expect(secondsOf({ startTime: 100, endTime: null }, 160)).toBe(60);
  });

  it('count the seconds in which the machine ran', () => {
    const periods = [
      { state: 'OPERATING', startTime: 0, endTime: 100 },
      { state: 'IDLE', startTime: 100, endTime: 200 },
      { state: 'OPERATING', startTime: 200, endTime: null },
    ];
    expect(operatingSeconds(periods, { startTime: 50, endTime: null }, 230)).toBe(80);
    expect(operatingSeconds(periods, { startTime: 100, endTime: 200 }, 230)).toBe(0);
  });
});

const stop = { startTime: 600, endTime: 1200 };

describe('splitting a stop', () => {
  it('snaps to the minute and leaves at least one on either side', () => {
    expect(snapSplit(915, stop, 0)).toBe(900);
    expect(snapSplit(0, stop, 0)).toBe(660);
    expect(snapSplit(9999, stop, 0)).toBe(1140);
  });

  it('ends at now while the stop goes on, and leaves its second part open', () => {
    const open = { startTime: 600, endTime: null };
    expect(snapSplit(9999, open, 1000)).toBe(900);
    expect(splitAt(open, 900)).toEqual([
      { startTime: 600, endTime: 900 },
      { startTime: 900, endTime: null },
    ]);
  });

  it('is not offered for what is shorter than two minutes', () => {
    expect(canSplit({ startTime: 600, endTime: 720 }, 0)).toBe(true);
    expect(canSplit({ startTime: 600, endTime: 700 }, 0)).toBe(false);
    expect(canSplit({ startTime: 630, endTime: 750 }, 0)).toBe(false);
  });
});
