import type { ReadRecord } from '../topic-reader.js';
import { eventRecord } from './event-record.js';
import { latestStateFaults, numberingFaults, observationFaults } from './stream-faults.js';

const lost = (reason: string, since: number): ReadRecord =>
  eventRecord('observationLost', {}, { reason, since });
const restored = (lostSince: number): ReadRecord =>
  eventRecord('observationRestored', {}, { lostSince });
const idle = (sequence: number, id: string): ReadRecord =>
  eventRecord('changed', { sequence, id }, { state: 'IDLE', startTime: 600, previousState: null });

describe('a machine’s events', () => {
  it('are numbered from 1 without gaps, each with a name of its own', () => {
    expect(numberingFaults('M', [idle(1, 'a'), idle(2, 'b')])).toEqual([]);
    expect(numberingFaults('M', [idle(2, 'a')])).toHaveLength(1);
    expect(numberingFaults('M', [idle(1, 'a'), idle(3, 'b')])).toHaveLength(1);
    expect(numberingFaults('M', [idle(1, 'a'), idle(2, 'a')])).toHaveLength(1);
    expect(numberingFaults('M', [idle(1, 'a'), { ...idle(2, 'b'), partition: 1 }])).toHaveLength(1);
  });

  it('report loss and return by turns', () => {
    const turns = [lost('stale', 60), lost('noData', 60), restored(60), lost('noData', 300)];
    expect(observationFaults('M', turns)).toEqual([]);
    expect(observationFaults('M', [restored(60)])).toHaveLength(1);
    expect(observationFaults('M', [lost('stale', 60), lost('stale', 60)])).toHaveLength(1);
    expect(observationFaults('M', [lost('stale', 60), lost('noData', 61)])).toHaveLength(1);
    expect(observationFaults('M', [lost('stale', 60), restored(61)])).toHaveLength(1);
  });

  it('end with what the latest state says', () => {
    const record = { machineId: 'M', factoryId: 'F', displayName: 'Mill', observation: 'ok' };
    const latest = { ...record, lastUpdateTime: 700, settledUntil: null } as const;
    const of = (state: 'IDLE' | 'OFF', startTime: number, sequence: number): string[] =>
      latestStateFaults('M', [idle(1, 'a')], {
        ...latest,
        observation: 'ok',
        state,
        startTime,
        sequence,
      });
    expect(of('IDLE', 600, 1)).toEqual([]);
    expect(of('OFF', 600, 1)).toHaveLength(1);
    expect(of('IDLE', 601, 1)).toHaveLength(1);
    expect(of('IDLE', 600, 2)).toHaveLength(1);
    expect(latestStateFaults('M', [idle(1, 'a')], undefined)).toHaveLength(1);
  });
});
