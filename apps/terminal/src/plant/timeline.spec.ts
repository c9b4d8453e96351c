import fc from 'fast-check';
import {
  MACHINE_STATES,
  type MachineState,
  type MachineStateRecord,
  STATE_EVENT_TYPES,
  type StateChanged,
  type StateEvent,
} from '#libs/contracts';
import type { Period } from './periods.js';
import { Timeline } from './timeline.js';

interface Row {
  state: MachineState;
  startTime: number;
  previousEndTime?: number;
}

const newRow = (state: MachineState, startTime: number): Row => ({ state, startTime });

const about = { machineId: 'M-1', factoryId: 'F-1' };

/** The data of an event in which `row` follows `before`. */
function dataOf(row: Row, before: Row | undefined, revision = 0): StateChanged {
  return {
    ...{ ...about, ...row, revision, startTimeSource: 'activityLog' },
    detectedAt: row.startTime + 90,
    previousState: before?.state ?? null,
    previousStartTime: before?.startTime ?? null,
  };
}

const changed = (data: StateChanged): StateEvent => ({ type: STATE_EVENT_TYPES.changed, data });
const corrected = (corrects: string, data: StateChanged): StateEvent => ({
  type: STATE_EVENT_TYPES.corrected,
  data: { ...data, corrects },
});
const lost = (since: number): StateEvent => ({
  type: STATE_EVENT_TYPES.observationLost,
  data: { ...about, reason: 'noData', since, detectedAt: since + 60, lastState: 'IDLE' },
});

/** State, start and end of each period. */
const inBrief = (timeline: Timeline, latest?: MachineStateRecord): unknown[] =>
  timeline.periods(latest).map(({ state, startTime, endTime }) => [state, startTime, endTime]);

const rowsOfALife = fc
  .array(
    fc.record({
      state: fc.constantFrom(...MACHINE_STATES),
      lasts: fc.integer({ min: 1, max: 30 }),
      gap: fc.option(fc.integer({ min: 1, max: 5 })),
    }),
    { minLength: 1, maxLength: 20 },
  )
  .map((periods) => {
    const rows: Row[] = [];
    let time = 6000;
    for (const { state, lasts, gap } of periods) {
      const previousEndTime = time;
      time += (gap ?? 0) * 60;
      if (rows.at(-1)?.state !== state || gap !== null) {
        rows.push({ state, startTime: time, ...(gap !== null && { previousEndTime }) });
      }
      time += lasts * 60;
    }
    return rows;
  });

function expectedOf(rows: readonly Row[]): unknown[] {
  return rows.flatMap(({ state, startTime }, index): unknown[] => {
    const next = rows[index + 1];
    const { previousEndTime } = next ?? {};
    if (next === undefined) return [[state, startTime, null]];
    if (previousEndTime === undefined) return [[state, startTime, next.startTime]];
    return [
      [state, startTime, previousEndTime],
      [null, previousEndTime, next.startTime],
    ];
  });
}

describe('a timeline', () => {
  it('reads the example of docs/machine-states.md', () => {
    const timeline = new Timeline();
    const [a, b, c] = [newRow('OPERATING', 0), newRow('IDLE', 300), newRow('OPERATING', 360)];
    const [d, e, g] = [newRow('OFF', 180), newRow('OPERATING', 240), newRow('OPERATING', 480)];
    timeline.applyEvent('a', changed(dataOf(a, undefined)));
    timeline.applyEvent('b', changed(dataOf(b, a)));
    timeline.applyEvent('c', changed(dataOf(c, b)));
    timeline.applyEvent('d', changed(dataOf(d, a)));
    timeline.applyEvent('e', changed(dataOf(e, d)));
    timeline.applyEvent('f', corrected('b', dataOf(b, e, 1)));
    timeline.applyEvent('g', corrected('c', dataOf(g, b, 1)));
    expect(inBrief(timeline)).toEqual([
      ['OPERATING', 0, 180],
      ['OFF', 180, 240],
      ['OPERATING', 240, 300],
      ['IDLE', 300, 480],
      ['OPERATING', 480, null],
    ]);
    expect(timeline.revisions).toMatchObject([
      { was: { state: 'OPERATING', startTime: 360 }, at: 570 },
    ]);
  });

  it('has a period with such a mistake if its own event was forgotten, or not read', () => {
    const [a, b, c] = [newRow('OFF', 0), newRow('OPERATING', 300), newRow('OFF', 360)];
    const [whole, late] = [new Timeline(), new Timeline()];
    whole.applyEvent('a', changed(dataOf(a, undefined)));
    for (const timeline of [whole, late]) {
      timeline.applyEvent('b', changed(dataOf(b, a)));
      timeline.applyEvent('c', changed(dataOf(c, b)));
      timeline.applyEvent('d', corrected('b', dataOf(a, a, 1)));
      timeline.applyEvent('e', corrected('c', dataOf(a, a, 2)));
    }
    whole.forgetPeriodsBefore(86_400);
    expect([whole, late].map((timeline) => inBrief(timeline))).toEqual([
      [['OFF', 0, null]],
      [['OFF', 0, null]],
    ]);
  });

  it('has the periods of a machine, and gaps without data, however its events were corrected', () => {
    const mistakes = fc.array(
      fc.record({ moved: fc.integer({ min: -3, max: 3 }), other: fc.boolean() }),
    );
    fc.assert(
      fc.property(rowsOfALife, mistakes, (rows, mistaken) => {
        const timeline = new Timeline();
        const wrong = rows.map((row, index): Row => {
          const { moved = 0, other = false } = mistaken[index] ?? {};
          const state = other ? 'OFF' : row.state;
          return { ...row, state, startTime: row.startTime + moved };
        });
        wrong.forEach((row, index) => {
          timeline.applyEvent(`wrong-${index}`, changed(dataOf(row, wrong[index - 1])));
        });
        rows.forEach((row, index) => {
          const data = dataOf(row, rows[index - 1], 1);
          timeline.applyEvent(`right-${index}`, corrected(`wrong-${index}`, data));
        });
        expect(inBrief(timeline)).toEqual(expectedOf(rows));
      }),
    );
  });

  it('has the same periods after forgetting earlier ones, and from events that begin in the middle', () => {
    fc.assert(
      fc.property(rowsOfALife, fc.nat(), (rows, at) => {
        const whole = new Timeline();
        const middle = new Timeline();
        const from = at % rows.length;
        rows.forEach((row, index) => {
          const event = changed(dataOf(row, rows[index - 1]));
          whole.applyEvent(String(index), event);
          if (index >= from) middle.applyEvent(String(index), event);
        });
        const time = rows[from]!.startTime;
        const since = ({ endTime }: Period): boolean => endTime === null || endTime > time;
        const expected = whole.periods(undefined).filter(since);
        expect(middle.periods(undefined).filter(since)).toEqual(expected);
        whole.forgetPeriodsBefore(time);
        expect(whole.periods(undefined).filter(since)).toEqual(expected);
      }),
    );
  });

  it('has no state from a loss of observation on, until that is restored', () => {
    const timeline = new Timeline();
    timeline.applyEvent('a', changed(dataOf(newRow('IDLE', 0), undefined)));
    timeline.applyEvent('b', lost(600));
    expect(inBrief(timeline)).toEqual([
      ['IDLE', 0, 600],
      [null, 600, null],
    ]);
    const data = { ...about, lostSince: 600, restoredAt: 900, detectedAt: 960 };
    timeline.applyEvent('c', { type: STATE_EVENT_TYPES.observationRestored, data });
    expect(inBrief(timeline)).toEqual([['IDLE', 0, null]]);
  });

  it('has the latest state if there are no events', () => {
    const latest: MachineStateRecord = {
      ...{ ...about, displayName: 'Press', state: 'OFF', startTime: 60, observation: 'ok' },
      ...{ lastUpdateTime: 120, sequence: 4, settledUntil: null },
    };
    expect(inBrief(new Timeline(), latest)).toEqual([['OFF', 60, null]]);
    expect(inBrief(new Timeline(), { ...latest, observation: 'stale' })).toEqual([
      ['OFF', 60, 120],
      [null, 120, null],
    ]);
    expect(inBrief(new Timeline())).toEqual([]);
  });
});
