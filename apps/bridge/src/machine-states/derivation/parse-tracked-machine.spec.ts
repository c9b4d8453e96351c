import fc from 'fast-check';
import { MACHINE_STATES } from '#libs/contracts';
import { parseTrackedMachine } from './parse-tracked-machine.js';
import type { TrackedMachine } from './tracked-machine.js';

const epoch = fc.integer({ min: 0, max: 4_000_000_000 });
const state = fc.constantFrom(...MACHINE_STATES);

const names = {
  machineId: fc.string({ minLength: 1 }),
  displayName: fc.string(),
  factoryId: fc.string(),
  factoryName: fc.string(),
};

const startTimeSource = fc.constantFrom('activityLog' as const, 'duration' as const);

const trackedMachine: fc.Arbitrary<TrackedMachine> = fc.record({
  version: fc.constant(2 as const),
  ...names,
  periods: fc.array(
    fc.record({
      state,
      startTime: epoch,
      startTimeSource,
      previousState: fc.option(state),
      previousStartTime: fc.option(epoch),
      previousEndTime: fc.option(epoch),
      revision: fc.nat(),
    }),
    { maxLength: 4 },
  ),
  replaced: fc.array(fc.record({ state, startTime: epoch, revision: fc.nat() }), { maxLength: 3 }),
  settledUntil: fc.option(epoch),
  unreadFrom: fc.option(epoch),
  observation: fc.constantFrom(
    'ok' as const,
    'noData' as const,
    'stale' as const,
    'removed' as const,
  ),
  lostSince: fc.option(epoch),
  lastUpdateTime: fc.option(epoch),
  sequence: fc.nat(),
});

describe('parseTrackedMachine', () => {
  it('reads a stored machine', () => {
    fc.assert(
      fc.property(trackedMachine, (tracked) => {
        const stored: unknown = JSON.parse(JSON.stringify(tracked));
        expect(parseTrackedMachine(stored)).toEqual(JSON.parse(JSON.stringify(tracked)));
      }),
    );
  });

  it('drops unknown fields: a later version would find them again, out of date', () => {
    const more = { isAllDay: true };
    const withMore = ({ periods, replaced, ...fields }: TrackedMachine): object => ({
      ...{ ...fields, ...more },
      periods: periods.map((period) => ({ ...period, ...more })),
      replaced: replaced.map((identity) => ({ ...identity, ...more })),
    });
    fc.assert(
      fc.property(trackedMachine, (tracked) => {
        expect(parseTrackedMachine(withMore(tracked))).toEqual(tracked);
      }),
    );
  });

  it('rejects any other JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => expect(parseTrackedMachine(json)).toBeUndefined()),
    );
  });

  it('reads records of version 1', () => {
    const names = { machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };
    const observed = { observation: 'ok', lostSince: null, lastUpdateTime: 960, sequence: 7 };
    const stored = {
      version: 1,
      ...names,
      current: {
        state: 'IDLE',
        startTime: 900,
        startTimeSource: 'duration',
        revision: 0,
        eventId: 'an-id',
      },
      previous: { state: 'OFF', startTime: 300 },
      ...observed,
    };
    const off = { state: 'OFF', startTime: 300, previousState: null, previousStartTime: null };
    const idle = { state: 'IDLE', startTime: 900, previousState: 'OFF', previousStartTime: 300 };
    expect(parseTrackedMachine(stored)).toEqual({
      version: 2,
      ...names,
      periods: [
        { ...off, startTimeSource: 'activityLog', previousEndTime: null, revision: 0 },
        { ...idle, startTimeSource: 'duration', previousEndTime: null, revision: 0 },
      ],
      replaced: [],
      settledUntil: 300,
      unreadFrom: null,
      ...observed,
    });
    expect(parseTrackedMachine({ ...stored, current: null, previous: null })?.periods).toEqual([]);
  });

  it.each([
    ['another version', { version: 3 }],
    ['a missing sequence', { sequence: undefined }],
    ['an unknown state', { replaced: [{ state: 'BROKEN', startTime: 1, revision: 0 }] }],
    ['an unknown observation', { observation: 'fine' }],
    ['a fraction for a time', { lastUpdateTime: 1.5 }],
    ['a list for a period', { periods: [[]] }],
    ['a period for a list', { periods: {} }],
  ])('reads nothing out of %s', (_what, change) => {
    fc.assert(
      fc.property(trackedMachine, (tracked) => {
        expect(parseTrackedMachine({ ...tracked, ...change })).toBeUndefined();
      }),
      { numRuns: 10 },
    );
  });
});
