import { STATE_EVENT_TYPES, stateChangeId } from '#libs/contracts';
import { deriveStateChanges, type PollResult } from './derive-state-changes.js';
import type { TrackedMachine } from './tracked-machine.js';

const MACHINE = { machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };
const T0 = 1_763_680_000;
const STALE_AFTER_SECONDS = 300;

const at = (now: number) => ({ now, staleAfterSeconds: STALE_AFTER_SECONDS, settleSeconds: 300 });

const operating = (lastUpdateTime: number, durationInMinutes = 10): PollResult => ({
  kind: 'reading',
  reading: { state: 'OPERATING', durationInMinutes, lastUpdateTime },
  log: null,
});

const noData: PollResult = { kind: 'lost', reason: 'noData' };

function observed(): TrackedMachine {
  return deriveStateChanges(MACHINE, undefined, operating(T0), at(T0 + 90)).next;
}

describe('deriveStateChanges', () => {
  it('publishes the first observation without a previous state', () => {
    const { events, next } = deriveStateChanges(MACHINE, undefined, operating(T0), at(T0 + 90));
    const id = stateChangeId('M-1', T0 - 600, 'OPERATING', 0);
    expect(events).toEqual([
      {
        id,
        time: T0 - 600,
        sequence: 1,
        event: {
          type: STATE_EVENT_TYPES.changed,
          data: {
            machineId: 'M-1',
            factoryId: 'F-1',
            state: 'OPERATING',
            previousState: null,
            startTime: T0 - 600,
            previousStartTime: null,
            detectedAt: T0 + 90,
            revision: 0,
            startTimeSource: 'duration',
          },
        },
        after: { ...next, lastUpdateTime: null },
      },
    ]);
    expect(next).toMatchObject({ observation: 'ok', lastUpdateTime: T0, sequence: 1 });
  });

  it('reports the loss of an observed machine once, since its latest update', () => {
    const { events, next } = deriveStateChanges(MACHINE, observed(), noData, at(T0 + 200));
    expect(events.map(({ event }) => event)).toEqual([
      {
        type: STATE_EVENT_TYPES.observationLost,
        data: {
          machineId: 'M-1',
          factoryId: 'F-1',
          reason: 'noData',
          since: T0,
          detectedAt: T0 + 200,
          lastState: 'OPERATING',
        },
      },
    ]);
    expect(deriveStateChanges(MACHINE, next, noData, at(T0 + 260)).events).toEqual([]);
  });

  it('reports a machine that never had data as lost, with no state', () => {
    const { events, next } = deriveStateChanges(MACHINE, undefined, noData, at(T0));
    expect(events[0]?.event.data).toMatchObject({ reason: 'noData', since: T0, lastState: null });
    expect(next).toMatchObject({ periods: [], observation: 'noData' });
  });

  it.each(['forbidden', 'unreachable', 'stale'] as const)(
    'takes a loss that becomes %s for the same loss',
    (reason) => {
      const lost = deriveStateChanges(MACHINE, observed(), noData, at(T0 + 200)).next;
      const { events, next } = deriveStateChanges(
        MACHINE,
        lost,
        { kind: 'lost', reason },
        at(T0 + 900),
      );
      expect(events).toEqual([]);
      expect(next.observation).toBe('noData');
    },
  );

  it('reports a lost machine that is removed, and one that is listed again without data', () => {
    const lost = deriveStateChanges(MACHINE, observed(), noData, at(T0 + 200)).next;
    const removed = deriveStateChanges(
      MACHINE,
      lost,
      { kind: 'lost', reason: 'removed' },
      at(T0 + 900),
    );
    expect(removed.events[0]?.event.data).toMatchObject({ reason: 'removed', since: T0 });
    const { events } = deriveStateChanges(MACHINE, removed.next, noData, at(T0 + 960));
    expect(events[0]?.event.data).toMatchObject({ reason: 'noData', since: T0 });
  });

  it('reports the return of a machine whose state went on', () => {
    const lost = deriveStateChanges(MACHINE, observed(), noData, at(T0 + 200)).next;
    const back = deriveStateChanges(MACHINE, lost, operating(T0 + 300, 15), at(T0 + 380));
    expect(back.events.map(({ event }) => event)).toEqual([
      {
        type: STATE_EVENT_TYPES.observationRestored,
        data: {
          machineId: 'M-1',
          factoryId: 'F-1',
          lostSince: T0,
          restoredAt: T0 + 300,
          detectedAt: T0 + 380,
        },
      },
    ]);
    expect(back.next).toMatchObject({ observation: 'ok', lostSince: null, sequence: 3 });
  });

  it('reports a machine whose latest update is too old as stale, and its return', () => {
    const stale = deriveStateChanges(MACHINE, observed(), operating(T0), at(T0 + 301));
    expect(stale.events[0]?.event.data).toMatchObject({ reason: 'stale', since: T0 });
    const again = deriveStateChanges(MACHINE, stale.next, operating(T0), at(T0 + 361));
    expect(again.events).toEqual([]);
    const back = deriveStateChanges(MACHINE, again.next, operating(T0 + 360, 16), at(T0 + 421));
    expect(back.events.map(({ event }) => event.type)).toEqual([
      STATE_EVENT_TYPES.observationRestored,
    ]);
  });

  it('reports a machine as stale that stands still, though its clock is ahead of ours', () => {
    const ahead = operating(T0 + 3600);
    const first = deriveStateChanges(MACHINE, undefined, ahead, at(T0));
    const standing = { ...at(T0 + 301), updateSeenAt: T0 };
    const { events } = deriveStateChanges(MACHINE, first.next, ahead, standing);
    expect(events[0]?.event.data).toMatchObject({ reason: 'stale', since: T0 + 3600 });
  });

  it('ignores an answer that is older than one it has seen, however old', () => {
    const old: PollResult = {
      kind: 'reading',
      reading: { state: 'OFF', durationInMinutes: 3, lastUpdateTime: T0 - 600 },
      log: null,
    };
    expect(deriveStateChanges(MACHINE, observed(), old, at(T0 + 100)).events).toEqual([]);
  });

  it('takes over new names without an event', () => {
    const renamed = { ...MACHINE, displayName: 'Big mill' };
    const { events, next } = deriveStateChanges(renamed, observed(), operating(T0), at(T0 + 90));
    expect(events).toEqual([]);
    expect(next.displayName).toBe('Big mill');
  });
});
