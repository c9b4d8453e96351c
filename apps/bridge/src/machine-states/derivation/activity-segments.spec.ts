import fc from 'fast-check';
import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import { type ActivitySegment, activitySegments } from './activity-segments.js';

const segment = (state: MachineState, startTime: number, endTime: number): ActivitySegment => ({
  state,
  startTime,
  endTime,
});

const entries = (...segments: ActivitySegment[]) =>
  segments.map((it) => ({ ...it, durationInMinutes: 0 }));

describe('activitySegments', () => {
  it('sorts entries', () => {
    const [a, b] = [segment('OFF', 0, 60), segment('IDLE', 60, 120)];
    expect(activitySegments(entries(b, a))).toEqual([a, b]);
  });

  it('merges neighbours of one state, and what a clipped window repeats', () => {
    expect(
      activitySegments(
        entries(segment('OFF', 0, 60), segment('OFF', 60, 120), segment('OFF', 90, 180)),
      ),
    ).toEqual([segment('OFF', 0, 180)]);
  });

  it('keeps a missing minute as a gap', () => {
    const apart = [segment('OFF', 0, 60), segment('OFF', 120, 180)];
    expect(activitySegments(entries(...apart))).toEqual(apart);
  });

  it('takes a gap of seconds for rounding', () => {
    expect(activitySegments(entries(segment('OFF', 0, 59), segment('OFF', 60, 180)))).toEqual([
      segment('OFF', 0, 180),
    ]);
  });

  it('lets the entry that starts later count where entries overlap', () => {
    expect(
      activitySegments(entries(segment('OPERATING', 0, 600), segment('IDLE', 120, 180))),
    ).toEqual([
      segment('OPERATING', 0, 120),
      segment('IDLE', 120, 180),
      segment('OPERATING', 180, 600),
    ]);
  });

  it('drops entries without length, but not the one that has just begun', () => {
    expect(
      activitySegments(
        entries(segment('IDLE', 0, 0), segment('OPERATING', 0, 120), segment('OFF', 120, 120)),
      ).map(({ state, startTime }) => [state, startTime]),
    ).toEqual([
      ['OPERATING', 0],
      ['OFF', 120],
    ]);
  });

  it('drops an entry without length where one with a length has just begun', () => {
    const begun = [segment('IDLE', 0, 120), segment('OPERATING', 120, 180)];
    expect(activitySegments(entries(...begun, segment('OFF', 120, 120)))).toEqual(begun);
  });

  it('always yields segments in order, without overlap, and nothing the log did not say', () => {
    const entry = fc
      .record({
        state: fc.constantFrom(...MACHINE_STATES),
        start: fc.integer({ min: 0, max: 50 }),
        length: fc.integer({ min: 0, max: 30 }),
      })
      .map(({ state, start, length }) => segment(state, start * 60, (start + length) * 60));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), (given) => {
        const segments = activitySegments(entries(...given));
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
