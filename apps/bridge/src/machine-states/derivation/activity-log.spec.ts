import fc from 'fast-check';
import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import { type ActivitySegment, activitySegments } from './activity-log.js';

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
