import { STATE_EVENT_TYPES, stateChangeId } from '#libs/contracts';
import { deriveStateChanges, type PollResult } from './derive-state-changes.js';
import type { TrackedMachine } from './tracked-machine.js';

const MACHINE = { machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };
const T0 = 1_763_680_000;
const OF_MACHINE = { machineId: 'M-1', factoryId: 'F-1' };

const operating = (lastUpdateTime: number, durationInMinutes = 10): PollResult => ({
  kind: 'reading',
  reading: { state: 'OPERATING', durationInMinutes, lastUpdateTime },
  log: null,
});

const lost = (
  reason: 'noData' | 'forbidden' | 'unreachable' | 'stale' | 'removed',
): PollResult => ({ ...{ kind: 'lost', reason } });

interface Polled {
  /** Type and data of each event. */
  events: { type: string; data: object }[];
  next: TrackedMachine;
}

/** A poll this many seconds after T0. */
function poll(
  before: TrackedMachine | undefined,
  seconds: number,
  result: PollResult,
  { machine = MACHINE, ...more }: { machine?: typeof MACHINE; updateSeenAt?: number } = {},
): Polled {
  const context = { now: T0 + seconds, staleAfterSeconds: 300, settleSeconds: 300, ...more };
  const { events, next } = deriveStateChanges(machine, before, result, context);
  return { events: events.map(({ event }) => event), next };
}

const observed = (): TrackedMachine => poll(undefined, 90, operating(T0)).next;
const withoutData = (): TrackedMachine => poll(observed(), 200, lost('noData')).next;

describe('deriveStateChanges', () => {
  it('publishes the first observation without a previous state', () => {
    const context = { now: T0 + 90, staleAfterSeconds: 300, settleSeconds: 300 };
    const { events, next } = deriveStateChanges(MACHINE, undefined, operating(T0), context);
    const id = stateChangeId('M-1', T0 - 600, 'OPERATING', 0);
    expect(events).toEqual([
      {
        id,
        time: T0 - 600,
        sequence: 1,
        event: {
          type: STATE_EVENT_TYPES.changed,
          data: {
            ...OF_MACHINE,
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
    const { events, next } = poll(observed(), 200, lost('noData'));
    const when = { since: T0, detectedAt: T0 + 200 };
    expect(events).toEqual([
      {
        type: STATE_EVENT_TYPES.observationLost,
        data: { ...OF_MACHINE, ...when, reason: 'noData', lastState: 'OPERATING' },
      },
    ]);
    expect(poll(next, 260, lost('noData')).events).toEqual([]);
  });

  it('reports a machine that never had data as lost, with no state', () => {
    const { events, next } = poll(undefined, 0, lost('noData'));
    expect(events).toMatchObject([{ data: { reason: 'noData', since: T0, lastState: null } }]);
    expect(next).toMatchObject({ periods: [], observation: 'noData' });
  });

  it.each(['forbidden', 'unreachable', 'stale'] as const)(
    'treats a loss that becomes %s as the same loss',
    (reason) => {
      const { events, next } = poll(withoutData(), 900, lost(reason));
      expect(events).toEqual([]);
      expect(next.observation).toBe('noData');
    },
  );

  it('reports a lost machine that is removed, and one that is listed again without data', () => {
    const removed = poll(withoutData(), 900, lost('removed'));
    expect(removed.events).toMatchObject([{ data: { reason: 'removed', since: T0 } }]);
    const { events } = poll(removed.next, 960, lost('noData'));
    expect(events).toMatchObject([{ data: { reason: 'noData', since: T0 } }]);
  });

  it('reports the return of a machine whose state lasted', () => {
    const { events, next } = poll(withoutData(), 380, operating(T0 + 300, 15));
    const when = { lostSince: T0, restoredAt: T0 + 300, detectedAt: T0 + 380 };
    expect(events).toEqual([
      { type: STATE_EVENT_TYPES.observationRestored, data: { ...OF_MACHINE, ...when } },
    ]);
    expect(next).toMatchObject({ observation: 'ok', lostSince: null, sequence: 3 });
  });

  it('reports a loss no earlier than the latest period after a crash amid the periods missed in an earlier loss', () => {
    const [idleAt, lastUpdateTime] = [T0 + 1800, T0 + 3600];
    const reading = { state: 'OFF', durationInMinutes: 0, lastUpdateTime } as const;
    const entries = [
      { state: 'OPERATING', startTime: T0 - 600, endTime: idleAt } as const,
      { state: 'IDLE', startTime: idleAt, endTime: lastUpdateTime } as const,
    ];
    const result = { kind: 'reading', reading, log: { from: T0 - 1200, entries } } as const;
    const context = { now: T0 + 3660, staleAfterSeconds: 300, settleSeconds: 300 };
    const { events } = deriveStateChanges(MACHINE, withoutData(), result, context);
    const amid = events.at(-2)?.after;
    expect(amid).toMatchObject({ observation: 'ok', periods: [{}, { state: 'IDLE' }] });
    const again = poll(amid, 3720, lost('noData'));
    expect(again.events).toMatchObject([{ data: { since: idleAt, lastState: 'IDLE' } }]);
  });

  it('reports a machine whose latest update is too old as stale, and its return', () => {
    const stale = poll(observed(), 301, operating(T0));
    expect(stale.events).toMatchObject([{ data: { reason: 'stale', since: T0 } }]);
    const again = poll(stale.next, 361, operating(T0));
    expect(again.events).toEqual([]);
    const back = poll(again.next, 421, operating(T0 + 360, 16));
    expect(back.events).toMatchObject([{ type: STATE_EVENT_TYPES.observationRestored }]);
  });

  it('reports a machine without new updates as stale even if its clock is ahead of ours', () => {
    const first = poll(undefined, 0, operating(T0 + 3600)).next;
    const { events } = poll(first, 301, operating(T0 + 3600), { updateSeenAt: T0 });
    expect(events).toMatchObject([{ data: { reason: 'stale', since: T0 + 3600 } }]);
  });

  it('reports a machine of a service whose clock is too far behind as stale, but also its changes', () => {
    const first = poll(undefined, 301, operating(T0), { updateSeenAt: T0 + 301 });
    expect(first.events).toMatchObject([
      { data: { state: 'OPERATING' } },
      { data: { reason: 'stale' } },
    ]);
    const reading = { state: 'IDLE', durationInMinutes: 0, lastUpdateTime: T0 + 60 } as const;
    const idle = { kind: 'reading', reading, log: null } as const;
    const { events } = poll(first.next, 361, idle, { updateSeenAt: T0 + 361 });
    expect(events).toMatchObject([{ data: { state: 'IDLE', startTime: T0 + 60 } }]);
  });

  it('ignores an answer that is older than a known one, however old', () => {
    const reading = { state: 'OFF', durationInMinutes: 3, lastUpdateTime: T0 - 600 } as const;
    expect(poll(observed(), 100, { kind: 'reading', reading, log: null }).events).toEqual([]);
  });

  it('restores no machine by an answer that is older than a known one', () => {
    expect(poll(withoutData(), 210, operating(T0 - 60)).events).toEqual([]);
  });

  it('reports a machine with only older answers as stale, and its return with the first newer one', () => {
    const older = operating(T0 - 60);
    expect(poll(observed(), 300, older).events).toEqual([]);
    const stale = poll(observed(), 301, older);
    expect(stale.events).toMatchObject([{ data: { reason: 'stale', since: T0 } }]);
    expect(stale.next.lastUpdateTime).toBe(T0);
    const back = poll(stale.next, 361, operating(T0 + 300, 15));
    expect(back.events).toMatchObject([{ data: { lostSince: T0, restoredAt: T0 + 300 } }]);
  });

  it('stores new names without an event', () => {
    const machine = { ...MACHINE, displayName: 'Big mill' };
    const { events, next } = poll(observed(), 90, operating(T0), { machine });
    expect(events).toEqual([]);
    expect(next.displayName).toBe('Big mill');
  });
});
