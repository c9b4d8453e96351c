import fc from 'fast-check';
import { MACHINE_STATES } from '#libs/contracts';
import { parseTrackedMachine } from './parse-tracked-machine.js';
import { type TrackedMachine } from './tracked-machine.js';

const epoch = fc.integer({ min: 0, max: 4_000_000_000 });
const state = fc.constantFrom(...MACHINE_STATES);

const trackedMachine: fc.Arbitrary<TrackedMachine> = fc.record({
  version: fc.constant(1 as const),
  machineId: fc.string({ minLength: 1 }),
  displayName: fc.string(),
  factoryId: fc.string(),
  factoryName: fc.string(),
  current: fc.option(
    fc.record({
      state,
      startTime: epoch,
      startTimeSource: fc.constantFrom('activityLog' as const, 'duration' as const),
      revision: fc.nat(),
      eventId: fc.string(),
    }),
  ),
  previous: fc.option(fc.record({ state, startTime: epoch })),
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
  it('reads what was stored', () => {
    fc.assert(
      fc.property(trackedMachine, (tracked) => {
        const stored: unknown = JSON.parse(JSON.stringify(tracked));
        expect(parseTrackedMachine(stored)).toEqual(JSON.parse(JSON.stringify(tracked)));
      }),
    );
  });

  it('reads nothing out of any other JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        expect(parseTrackedMachine(json)).toBeUndefined();
      }),
    );
  });

  it.each([
    ['another version', { version: 2 }],
    ['a missing sequence', { sequence: undefined }],
    ['an unknown state', { previous: { state: 'BROKEN', startTime: 1 } }],
    ['an unknown observation', { observation: 'fine' }],
    ['a fraction for a time', { lastUpdateTime: 1.5 }],
    ['a list for a period', { current: [] }],
  ])('reads nothing out of %s', (_what, change) => {
    fc.assert(
      fc.property(trackedMachine, (tracked) => {
        expect(parseTrackedMachine({ ...tracked, ...change })).toBeUndefined();
      }),
      { numRuns: 10 },
    );
  });
});
