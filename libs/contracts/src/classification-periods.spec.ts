import fc from 'fast-check';
import { classificationPeriods, type ReceivedClassification } from './classification-periods.js';

const SHIFT_END = 1000;

interface Call extends ReceivedClassification {
  reasonId: string;
}

function received(...calls: Partial<Call>[]): Call[] {
  return calls.map((call, index) => ({
    receivedAt: 100,
    startTime: 100,
    endTime: null,
    reasonId: `r${index + 1}`,
    shiftEndTime: SHIFT_END,
    ...call,
  }));
}

const spans = (...calls: Partial<Call>[]) =>
  classificationPeriods(received(...calls)).map((p) => [p.call.reasonId, p.startTime, p.endTime]);

describe('classifications as they apply', () => {
  it('applies to exactly its period when it has an end time', () => {
    expect(spans({ startTime: 10, endTime: 50 })).toEqual([['r1', 10, 50]]);
  });

  it('applies up to the end of the current shift when it is open-ended', () => {
    expect(spans({ startTime: 90 })).toEqual([['r1', 90, SHIFT_END]]);
  });

  it('applies to the end of the shift in which it is received, however long ago it began', () => {
    expect(spans({ startTime: -5000, receivedAt: 900 })).toEqual([['r1', -5000, SHIFT_END]]);
  });

  it('ends an open-ended one when a later call that carries an end time is received', () => {
    expect(spans({}, { receivedAt: 300, startTime: 0, endTime: 50 })).toEqual([
      ['r2', 0, 50],
      ['r1', 100, 300],
    ]);
  });

  it('does not prolong one whose shift has ended', () => {
    expect(spans({}, { receivedAt: 2000, startTime: 1900, endTime: 1950 })).toEqual([
      ['r1', 100, SHIFT_END],
      ['r2', 1900, 1950],
    ]);
  });

  it('lets a later open-ended one take over from its start, without ending the earlier before', () => {
    expect(spans({}, { receivedAt: 300, startTime: 250 })).toEqual([
      ['r1', 100, 250],
      ['r2', 250, SHIFT_END],
    ]);
  });

  it('lets the later one win where two overlap, and keeps both sides of the earlier', () => {
    expect(spans({ startTime: 0, endTime: 90 }, { startTime: 30, endTime: 60 })).toEqual([
      ['r1', 0, 30],
      ['r2', 30, 60],
      ['r1', 60, 90],
    ]);
  });

  it('leaves to an earlier one what an open-ended one would have covered after its end', () => {
    const earlier = { startTime: 0, endTime: 800 };
    expect(spans(earlier, {}, { receivedAt: 300, startTime: 10, endTime: 20 })).toEqual([
      ['r1', 0, 10],
      ['r3', 10, 20],
      ['r1', 20, 100],
      ['r2', 100, 300],
      ['r1', 300, 800],
    ]);
  });

  it('ignores the length of an empty period, but not that it carries an end time', () => {
    expect(spans({}, { receivedAt: 200, startTime: 150, endTime: 150 })).toEqual([
      ['r1', 100, 200],
    ]);
  });

  it('comes out the same when a call is repeated at once', () => {
    const call = { startTime: 40, endTime: 80, reasonId: 'r' };
    expect(spans(call, call)).toEqual(spans(call));
  });

  it('never overlaps and never goes backwards, whatever is received', () => {
    const call = fc.record({
      startTime: fc.integer({ min: 0, max: 99 }),
      length: fc.option(fc.nat({ max: 200 })),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 12 }), (calls) => {
        const periods = classificationPeriods(
          received(
            ...calls.map(({ startTime, length }, index) => ({
              startTime,
              receivedAt: 100 + index,
              endTime: length === null ? null : startTime + length,
            })),
          ),
        );
        periods.forEach((period, index) => {
          expect(period.startTime).toBeLessThan(period.endTime);
          expect(period.startTime).toBeGreaterThanOrEqual(periods[index - 1]?.endTime ?? -Infinity);
        });
      }),
    );
  });
});
