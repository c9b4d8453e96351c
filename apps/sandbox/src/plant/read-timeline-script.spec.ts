import { readTimelineScript } from './read-timeline-script.js';

const script = (...periods: object[]) => ({ machines: [{ machineId: 'X', periods }] });

function problemsOf(json: unknown): string {
  const read = readTimelineScript(json);
  return read.ok ? '' : read.problems.join('; ');
}

describe('a timeline script', () => {
  it('describes machines, with defaults for what it leaves out', () => {
    const read = readTimelineScript(script({ startTime: 0, state: 'OFF' }));
    expect(read).toMatchObject({
      ok: true,
      machines: [{ machineId: 'X', machineDisplayName: { en: 'X' }, factoryId: 'F-1' }],
    });
  });

  it('takes names, factory, reasons and phase as given', () => {
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

  it('lets a period without an end last to the next one, and the last one for good', () => {
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
