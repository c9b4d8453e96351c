import type { StateChanged } from '#libs/contracts';
import type { ReadRecord } from '../topic-reader.js';
import { eventRecord } from './event-record.js';
import { brokenLinks, foldStates } from './fold-states.js';

const at = (minute: number): number => 1_763_680_020 + minute * 60;

type Period = [state: StateChanged['state'], minute: number];
type Data = Record<string, unknown>;

function data([state, minute]: Period, previous: Period | null): Data {
  const previousStartTime = previous && at(previous[1]);
  return { state, startTime: at(minute), previousState: previous?.[0] ?? null, previousStartTime };
}

function changed(id: string, period: Period, previous: Period | null, more: Data = {}): ReadRecord {
  return eventRecord('changed', { id }, { ...data(period, previous), ...more });
}

function corrected(id: string, corrects: string, period: Period, previous: Period): ReadRecord {
  return eventRecord('corrected', { id }, { ...data(period, previous), corrects });
}

const FIRST = changed('a', ['IDLE', 0], null);
const SECOND = changed('b', ['OPERATING', 10], ['IDLE', 0]);

describe('the timeline that events describe', () => {
  it('lets each period last until the next one begins', () => {
    expect(foldStates([FIRST, SECOND])).toEqual([
      { state: 'IDLE', startTime: at(0), endTime: at(10) },
      { state: 'OPERATING', startTime: at(10), endTime: Infinity },
    ]);
  });

  it('has a correction in place of the event that it names', () => {
    const third = changed('c', ['OFF', 20], ['OPERATING', 10]);
    const later = corrected('d', 'b', ['OPERATING', 12], ['IDLE', 0]);
    const linked = corrected('e', 'c', ['OFF', 20], ['OPERATING', 12]);
    const events = [FIRST, SECOND, third, later, linked];
    expect(foldStates(events)).toEqual([
      { state: 'IDLE', startTime: at(0), endTime: at(12) },
      { state: 'OPERATING', startTime: at(12), endTime: at(20) },
      { state: 'OFF', startTime: at(20), endTime: Infinity },
    ]);
    expect(brokenLinks(events)).toEqual([]);
    expect(brokenLinks(events.slice(0, -1))).toHaveLength(1);
  });

  it('takes no time for a period that a correction makes the one before it', () => {
    const events = [FIRST, SECOND, corrected('c', 'b', ['IDLE', 0], ['IDLE', 0])];
    expect(foldStates(events)).toEqual([{ state: 'IDLE', startTime: at(0), endTime: Infinity }]);
    expect(brokenLinks(events)).toEqual([]);
  });

  it('leaves open what lies between a period and the end of the one before', () => {
    const events = [
      FIRST,
      changed('b', ['IDLE', 10], ['IDLE', 0], { previousEndTime: at(4) }),
      changed('c', ['OFF', 20], ['IDLE', 10]),
    ];
    expect(foldStates(events)).toEqual([
      { state: 'IDLE', startTime: at(0), endTime: at(4) },
      { state: 'IDLE', startTime: at(10), endTime: at(20) },
      { state: 'OFF', startTime: at(20), endTime: Infinity },
    ]);
  });

  it('puts a period that is published later where it belongs', () => {
    const between = changed('c', ['OFF', 5], ['IDLE', 0]);
    const linked = corrected('d', 'b', ['OPERATING', 10], ['OFF', 5]);
    const events = [FIRST, SECOND, between, linked];
    expect(foldStates(events).map(({ state }) => state)).toEqual(['IDLE', 'OFF', 'OPERATING']);
    expect(brokenLinks(events)).toEqual([]);
  });

  it('has no seconds, and no period of seconds', () => {
    const late = changed('b', ['OPERATING', 10], ['IDLE', 0], { startTime: at(10) + 59 });
    const gone = changed('c', ['OFF', 10], ['OPERATING', 10], { startTime: at(10) + 30 });
    expect(foldStates([FIRST, gone, late])).toEqual([
      { state: 'IDLE', startTime: at(0), endTime: at(10) },
      { state: 'OPERATING', startTime: at(10), endTime: Infinity },
    ]);
  });

  it('passes over what is said of the observation', () => {
    const lost = eventRecord('observationLost', { id: 'x' }, { reason: 'noData', since: at(5) });
    expect(foldStates([FIRST, lost, SECOND])).toHaveLength(2);
  });

  it('cannot be had when a correction names an event that is corrected already', () => {
    const again = corrected('d', 'b', ['OFF', 12], ['IDLE', 0]);
    const once = corrected('c', 'b', ['OPERATING', 11], ['IDLE', 0]);
    expect(() => foldStates([FIRST, SECOND, once, again])).toThrow('which does not stand');
  });
});
