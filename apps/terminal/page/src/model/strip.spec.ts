import fc from 'fast-check';
import { barsOf, currentEntries, entriesIn, moved, reasonBars, ticksOf, zoomed } from './strip.js';

const shift = { startTime: 0, endTime: 28_800 };

const known = { shifts: [shift], goingOn: null };
const idle = (startTime: number, endTime: number | null, revision = 0) => ({
  state: 'IDLE' as const,
  startTime,
  endTime,
  revision,
});
const operating = (startTime: number, endTime: number | null, revision = 0) => ({
  state: 'OPERATING' as const,
  startTime,
  endTime,
  revision,
});

describe('the strip of a shift', () => {
  it('leaves no gap: what nothing is known of is a bar of its own', () => {
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
    // the longest piece stays what it was
    expect(keys.filter((key) => key === before[0]?.key)).toHaveLength(1);
  });

  it('shows of two reasons that overlap the later sent, and what it leaves of the earlier', () => {
    const said = (entryId: string, startTime: number, endTime: number | null, sentAt: number) => ({
      entryId,
      reasonId: entryId,
      startTime,
      endTime,
      sentAt,
      moved: false,
      status: 'applied' as const,
    });
    const bars = reasonBars([said('b', 300, 600, 20), said('a', 0, 1200, 10)], shift, 3600, known);
    expect(bars.map(({ entryId, startTime, endTime }) => [entryId, startTime, endTime])).toEqual([
      ['a', 0, 300],
      ['b', 300, 600],
      ['a', 600, 1200],
    ]);
  });

  it('ends an open-ended reason where a later one with an end was sent, else at now', () => {
    const open = {
      entryId: 'a',
      reasonId: 'a',
      startTime: 0,
      endTime: null,
      sentAt: 60,
      moved: false,
      status: 'applied' as const,
    };
    expect(reasonBars([open], shift, 3600, known)).toMatchObject([
      { startTime: 0, endTime: 3600, isOpen: true },
    ]);
    const ending = { ...open, entryId: 'b', reasonId: 'b', endTime: 900, sentAt: 1000 };
    const bars = reasonBars([open, ending], shift, 3600, known);
    expect(bars.map(({ entryId, endTime }) => [entryId, endTime])).toEqual([
      ['b', 900],
      ['a', 1000],
    ]);
  });

  it('shows an open-ended reason that was sent again with its end up to that end alone', () => {
    const open = {
      entryId: 'a',
      reasonId: 'a',
      startTime: 0,
      endTime: null,
      sentAt: 60,
      moved: false,
      status: 'applied' as const,
    };
    const followUp = { ...open, entryId: 'b', endTime: 900, sentAt: 1000 };
    expect(reasonBars([open, followUp], shift, 3600, known)).toMatchObject([
      { entryId: 'b', startTime: 0, endTime: 900 },
    ]);
  });

  it('ends what is open-ended with the shift in which it was sent', () => {
    const open = {
      ...{ entryId: 'a', reasonId: 'a', startTime: 600, endTime: null, sentAt: 900 },
      ...{ moved: false, status: 'applied' as const },
    };
    const next = { startTime: 28_800, endTime: 57_600 };
    const later = { startTime: 57_600, endTime: 86_400 };
    expect(
      reasonBars([open], shift, 30_000, { shifts: [next, shift], goingOn: null }),
    ).toMatchObject([{ startTime: 600, endTime: 28_800, isOpen: false }]);
    expect(reasonBars([open], next, 30_000, { shifts: [next, shift], goingOn: null })).toEqual([]);
    expect(reasonBars([open], later, 60_000, { shifts: [later, next], goingOn: null })).toEqual([]);
    const appliedLater = { shifts: [next, shift], goingOn: 'a' };
    expect(reasonBars([open], next, 30_000, appliedLater)).toMatchObject([
      { startTime: 28_800, endTime: 30_000, isOpen: true },
    ]);
    const sentLater = { ...open, sentAt: 29_000 };
    expect(
      reasonBars([sentLater], next, 30_000, { shifts: [next, shift], goingOn: null }),
    ).toMatchObject([{ startTime: 28_800, endTime: 30_000, isOpen: true }]);
  });

  it('does not list for the next shift what ended in the one before', () => {
    const open = { startTime: 0, endTime: null, sentAt: 60, status: 'applied' as const };
    const followUp = { ...open, endTime: 900, sentAt: 1000 };
    const next = { startTime: 28_800, endTime: 57_600 };
    expect(entriesIn(shift, [open, followUp])).toEqual([followUp]);
    expect(entriesIn(next, [open, followUp])).toEqual([]);
    expect(entriesIn(next, [open])).toEqual([open]);
  });

  it('does not show what was refused', () => {
    const refused = {
      entryId: 'a',
      reasonId: 'a',
      startTime: 0,
      endTime: 60,
      sentAt: 60,
      moved: false,
      status: 'rejected' as const,
    };
    expect(reasonBars([refused], shift, 3600, known)).toEqual([]);
  });

  it('lists a reason that was sent again from the same start in its last form, and what was refused', () => {
    const said = (
      entryId: string,
      startTime: number,
      sentAt: number,
      status: 'applied' | 'rejected',
    ) => ({
      ...{ entryId, startTime, sentAt, status },
    });
    const entries = [
      said('open', 0, 10, 'applied'),
      said('refused', 0, 15, 'rejected'),
      said('ended', 0, 20, 'applied'),
      said('other', 600, 5, 'applied'),
    ];
    expect(currentEntries(entries).map(({ entryId }) => entryId)).toEqual([
      'ended',
      'refused',
      'other',
    ]);
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
            view = moved(zoomed(view, factor, around, shift), by, shift);
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
