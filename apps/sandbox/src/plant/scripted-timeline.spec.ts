import fc from 'fast-check';
import { MACHINE_STATES } from '#libs/contracts';
import { ForcibleTimeline } from './forcible-timeline.js';
import { endOfPeriod, type MinuteState } from './timeline.js';
import { prevailingState } from './prevailing-state.js';
import { type ScriptedPeriod, ScriptedTimeline } from './scripted-timeline.js';
import { readTimelineScript } from './read-timeline-script.js';

const minutes = (timeline: ScriptedTimeline | ForcibleTimeline, count: number): MinuteState[] =>
  Array.from({ length: count }, (_, minute) => timeline.segmentAt(minute).state);

describe('the prevailing state of a minute', () => {
  it('is the one that lasted longest in total', () => {
    const pieces = [
      { state: 'IDLE', seconds: 20 },
      { state: 'OPERATING', seconds: 25 },
      { state: 'IDLE', seconds: 15 },
    ] as const;
    expect(prevailingState(pieces)).toBe('IDLE');
  });

  it('is the one seen last of two that lasted equally long', () => {
    const pieces = [
      { state: 'IDLE', seconds: 30 },
      { state: 'OFF', seconds: 30 },
    ] as const;
    expect(prevailingState(pieces)).toBe('OFF');
  });
});

describe('a scripted timeline', () => {
  it('continues an open period', () => {
    const timeline = new ScriptedTimeline([{ startTime: 0, endTime: Infinity, state: 'IDLE' }]);
    expect(timeline.segmentAt(1e9)).toEqual({ fromMinute: 0, toMinute: Infinity, state: 'IDLE' });
  });

  it('gives every minute the prevailing state of its seconds, of which those without a period have no data', () => {
    const lengths = fc.array(
      fc.record({
        gap: fc.oneof(fc.constant(0), fc.nat({ max: 200 })),
        seconds: fc.integer({ min: 1, max: 200 }),
        state: fc.constantFrom(...MACHINE_STATES),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(lengths, (pieces) => {
        const periods: ScriptedPeriod[] = [];
        const seconds: MinuteState[] = [];
        for (const piece of pieces) {
          seconds.push(...Array<null>(piece.gap).fill(null));
          const startTime = seconds.length;
          periods.push({ startTime, endTime: startTime + piece.seconds, state: piece.state });
          seconds.push(...Array<MinuteState>(piece.seconds).fill(piece.state));
        }
        const count = Math.ceil(seconds.length / 60) + 1;
        const expected = Array.from({ length: count }, (_, minute) =>
          prevailingState(
            Array.from({ length: 60 }, (__, at) => ({
              state: seconds[minute * 60 + at] ?? null,
              seconds: 1,
            })),
          ),
        );
        expect(minutes(new ScriptedTimeline(periods), count)).toEqual(expected);
      }),
    );
  });
});

describe('a forcible timeline', () => {
  const base = () =>
    new ForcibleTimeline(new ScriptedTimeline([{ startTime: 0, endTime: 600, state: 'IDLE' }]));

  it('replaces forced states after the beginning of a new one', () => {
    const timeline = base();
    timeline.force('OFF', 5);
    timeline.force('OPERATING', 3);
    expect(minutes(timeline, 7).slice(2)).toEqual([
      'IDLE',
      'OPERATING',
      'OPERATING',
      'OPERATING',
      'OPERATING',
    ]);
  });

  it('joins a forced state with the same state beside it', () => {
    const timeline = base();
    timeline.force('IDLE', 4);
    timeline.release(6);
    expect(endOfPeriod(timeline, 1, 100)).toBe(10);
  });
});

const script = (...periods: object[]) => ({ machines: [{ machineId: 'X', periods }] });

function problemsOf(json: unknown): string {
  const read = readTimelineScript(json);
  return read.ok ? '' : read.problems.join('; ');
}

describe('a timeline script', () => {
  it('describes machines, with defaults for absent fields', () => {
    const read = readTimelineScript(script({ startTime: 0, state: 'OFF' }));
    expect(read).toMatchObject({
      ok: true,
      machines: [{ machineId: 'X', machineDisplayName: { en: 'X' }, factoryId: 'F-1' }],
    });
  });

  it('may have names, factory, reasons and phase', () => {
    const machine = {
      machineId: 'X',
      displayName: 'Saw',
      factoryId: 'F-9',
      factoryName: 'Nine',
      reasons: [],
      updatePhaseSeconds: 7,
    };
    const read = readTimelineScript({ machines: [{ ...machine, periods: [] }] });
    const { displayName, ...same } = machine;
    expect(read).toMatchObject({
      machines: [{ ...same, machineDisplayName: { en: displayName } }],
    });
  });

  it('ends a period without an end at the next one, and never ends the last one', () => {
    const read = readTimelineScript(
      script({ startTime: 0, state: 'OFF' }, { startTime: 120, state: 'IDLE' }),
    );
    if (!read.ok) throw new Error('refused');
    const { timeline } = read.machines[0]!;
    expect([0, 1, 2, 999].map((minute) => timeline.segmentAt(minute).state)).toEqual([
      'OFF',
      'OFF',
      'IDLE',
      'IDLE',
    ]);
  });

  it.each([
    [[], 'must be a JSON object'],
    [{}, 'machines'],
    [{ machines: [[]] }, 'each value in machines must be an object'],
    [script([]), 'each value in periods must be an object'],
    [script({ startTime: 'now', state: 'OFF' }), 'machines.0.periods.0.startTime'],
    [script({ startTime: 0, state: 'BROKEN' }), 'state must be one of'],
    [script({ startTime: 60, endTime: 60, state: 'OFF' }), 'must end after it starts'],
    [
      script({ startTime: 0, endTime: 90, state: 'OFF' }, { startTime: 60, state: 'IDLE' }),
      'overlaps the next one',
    ],
    [{ machines: [...script().machines, ...script().machines] }, 'listed twice'],
    [{ machines: [{ ...script().machines[0], reason: [] }] }, 'reason should not exist'],
  ])('is refused with the reason: %j', (json, why) => {
    expect(problemsOf(json)).toContain(why);
  });
});
