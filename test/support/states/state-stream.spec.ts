import type { MachineStateRecord, StateChanged } from '#libs/contracts';
import type { TestKafka } from '../kafka.js';
import type { Message } from '../stock-kafkajs.js';
import { type ReadRecord, TopicReader } from '../topic-reader.js';
import { readStateStream } from './state-stream.js';
import { eventRecord } from './event-record.js';
import { brokenLinks, foldStates, type TimelinePeriod } from './fold-states.js';
import {
  latestStateFaults,
  numberingFaults,
  observationFaults,
  settledFaults,
} from './stream-faults.js';
import { differences } from './differences.js';
import { untruth } from './truth-of.js';

describe('the stream of states', () => {
  it('is read to an end record that is valid, without that record', async () => {
    const reader = new TopicReader();
    const kafka = {
      send: (topic: string, ...messages: Message[]): Promise<void> => {
        for (const { partition = 0, key, value, headers = {} } of messages) {
          const bytes = (it: Buffer | string | null | undefined): Buffer | null =>
            typeof it === 'string' ? Buffer.from(it) : (it ?? null);
          const place = { topic, partition, offset: 0 };
          reader.addRecord({ ...place, key: bytes(key), value: bytes(value), headers });
        }
        return Promise.resolve();
      },
      read: () => Promise.resolve(reader),
    };
    const { events, states } = await readStateStream(kafka as unknown as TestKafka, 3);
    expect([events.size, states.size]).toEqual([0, 0]);
    reader.expectValid();
  });
});

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

  it('replaces an event by the correction that names it', () => {
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

  it('has no time for a period that a correction changes into its predecessor', () => {
    const events = [FIRST, SECOND, corrected('c', 'b', ['IDLE', 0], ['IDLE', 0])];
    expect(foldStates(events)).toEqual([{ state: 'IDLE', startTime: at(0), endTime: Infinity }]);
    expect(brokenLinks(events)).toEqual([]);
  });

  it('leaves the time between a period and the end of its predecessor without a state', () => {
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

  it('ignores losses and returns', () => {
    const lost = eventRecord('observationLost', { id: 'x' }, { reason: 'noData', since: at(5) });
    expect(foldStates([FIRST, lost, SECOND])).toHaveLength(2);
  });

  it('fails when a correction names an event that was corrected before', () => {
    const again = corrected('d', 'b', ['OFF', 12], ['IDLE', 0]);
    const once = corrected('c', 'b', ['OPERATING', 11], ['IDLE', 0]);
    expect(() => foldStates([FIRST, SECOND, once, again])).toThrow('which does not stand');
  });
});

const lost = (reason: string, since: number): ReadRecord =>
  eventRecord('observationLost', {}, { reason, since });
const restored = (lostSince: number): ReadRecord =>
  eventRecord('observationRestored', {}, { lostSince });
const idle = (sequence: number, id: string): ReadRecord =>
  eventRecord('changed', { sequence, id }, { state: 'IDLE', startTime: 600, previousState: null });

describe('a machine’s events', () => {
  it('are numbered from 1 without gaps, each with its own id', () => {
    expect(numberingFaults('M', [idle(1, 'a'), idle(2, 'b')])).toEqual([]);
    expect(numberingFaults('M', [idle(2, 'a')])).toHaveLength(1);
    expect(numberingFaults('M', [idle(1, 'a'), idle(3, 'b')])).toHaveLength(1);
    expect(numberingFaults('M', [idle(1, 'a'), idle(2, 'a')])).toHaveLength(1);
    expect(numberingFaults('M', [idle(1, 'a'), { ...idle(2, 'b'), partition: 1 }])).toHaveLength(1);
  });

  it('report losses and returns in turn', () => {
    const turns = [lost('stale', 60), lost('noData', 60), restored(60), lost('noData', 300)];
    expect(observationFaults('M', turns)).toEqual([]);
    expect(observationFaults('M', [restored(60)])).toHaveLength(1);
    expect(observationFaults('M', [lost('stale', 60), lost('stale', 60)])).toHaveLength(1);
    expect(observationFaults('M', [lost('stale', 60), lost('noData', 61)])).toHaveLength(1);
    expect(observationFaults('M', [lost('stale', 60), restored(61)])).toHaveLength(1);
  });

  it('end with the latest state', () => {
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

function period(state: TimelinePeriod['state'], from: number, to: number): TimelinePeriod {
  return { state, startTime: at(from), endTime: at(to) };
}

const TRUTH = [period('IDLE', 0, 10), period('OPERATING', 10, 20), period('OFF', 25, 40)];
const published = (...periods: TimelinePeriod[]): string | undefined =>
  untruth('M', TRUTH, periods, at(12));

describe('what is settled', () => {
  const until = (sequence: number, minute: number): MachineStateRecord => ({
    machineId: 'M',
    ...{ factoryId: 'F', displayName: 'Mill', observation: 'ok', lastUpdateTime: at(99) },
    ...{ state: 'IDLE', startTime: at(0), sequence, settledUntil: at(minute) },
  });
  const events = [FIRST, SECOND, corrected('c', 'b', ['OPERATING', 12], ['IDLE', 0])];
  const faults = (...states: (MachineStateRecord | null)[]): string[] =>
    settledFaults('M', events, states);

  it('may be corrected before, and from that time on', () => {
    expect(faults(until(3, 99))).toEqual([]);
    expect(faults(until(1, 5), null, until(2, 10))).toEqual([]);
  });

  it('may no longer change, nor be settled up to an earlier time', () => {
    expect(faults(until(2, 11))).toHaveLength(1);
    expect(faults(until(1, 11))).toHaveLength(2);
    expect(faults(until(1, 5), until(2, 4))).toHaveLength(1);
    expect(faults(until(2, 5), until(2, 4), until(2, 10))).toHaveLength(1);
  });

  it('may have a further period that lasts no time', () => {
    const vanished = corrected('c', 'b', ['IDLE', 0], ['IDLE', 0]);
    expect(settledFaults('M', [FIRST, SECOND, vanished], [until(2, 10)])).toEqual([]);
  });
});

describe('what is published of a machine', () => {
  it('is true from the period on in which the machine was first watched', () => {
    expect(published(period('OPERATING', 10, 20), period('OFF', 25, Infinity))).toBeUndefined();
    expect(published(...TRUTH)).toBeUndefined();
  });

  it('departs from the truth where a state begins a minute late', () => {
    const late = [period('OPERATING', 10, 20), period('OFF', 26, Infinity)];
    expect(differences(TRUTH.slice(1), late.slice(0, 1))).toEqual([
      { startTime: at(25), endTime: at(40), expected: 'OFF', seen: null },
    ]);
    expect(published(...late)).toMatch(/expected OFF, seen nothing[^]*OPERATING[^]*OPERATING/);
  });

  it('departs from the truth where a state goes on through minutes without data', () => {
    const through = [period('OPERATING', 10, 25), period('OFF', 25, Infinity)];
    expect(published(...through)).toContain('expected nothing, seen OPERATING');
  });

  it('departs from the truth where it begins in the middle of a period, or with a later one', () => {
    expect(published(period('OPERATING', 11, 20), period('OFF', 25, 40))).toContain('seen nothing');
    expect(published(period('OFF', 25, 40))).toContain('seen nothing');
    expect(published()).toContain('seen nothing');
  });

  it('departs from the truth where a machine without data is reported as off', () => {
    const off = [period('OFF', 30, Infinity)];
    expect(untruth('M', [], off, at(12))).toContain('expected nothing, seen OFF');
    expect(untruth('M', [], [], at(12))).toBeUndefined();
  });
});
