import { TOPICS } from '#libs/contracts';
import { type OutboundRecord, type OwnedState, type StateChange } from '#libs/messaging';
import { type Derivation, deriveStateChanges } from '../derivation/derive-state-changes.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { StatePublisher } from './state-publisher.js';

const T0 = 1_763_680_020;
const CONTEXT = { now: T0, staleAfterSeconds: Infinity, settleSeconds: 300 };

function derivation(machineId: string, alternations = 0, factoryId = 'F 1'): Derivation {
  const machine = { machineId, displayName: machineId, factoryId, factoryName: 'Plant' };
  const first = deriveStateChanges(
    machine,
    undefined,
    { kind: 'reading', reading: reading('OFF', T0), log: null },
    CONTEXT,
  );
  if (alternations === 0) return first;
  const entries = Array.from({ length: alternations }, (_, index) => ({
    state: index % 2 === 0 ? ('IDLE' as const) : ('OFF' as const),
    startTime: T0 + (index + 1) * 60,
    endTime: T0 + (index + 2) * 60,
    durationInMinutes: 1,
  }));
  const end = T0 + (alternations + 1) * 60;
  const latest = reading(entries.at(-1)!.state, end);
  const log = { from: T0 - 600, entries };
  return deriveStateChanges(
    machine,
    first.next,
    { kind: 'reading', reading: latest, log },
    CONTEXT,
  );
}

function reading(state: 'OFF' | 'IDLE', lastUpdateTime: number) {
  return { state, durationInMinutes: 0, lastUpdateTime };
}

interface Commit {
  changes: readonly StateChange<TrackedMachine>[];
  records: readonly OutboundRecord[];
}

const LONG_NAME = 'ü'.repeat(10_000);

/** Keys and values of one commit as Kafka gets them, without headers and framing. */
function bytesOf({ changes, records }: Commit): number {
  const written = [
    ...changes.flatMap(([key, value]) => [key, JSON.stringify(value)]),
    ...records.flatMap(({ key, value }) => [key ?? '', value ?? '']),
  ];
  return written.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

/** Holds each commit until it is released. */
class HeldState {
  readonly commits: Commit[] = [];
  private readonly releases: ((error?: Error) => void)[] = [];

  readonly state: OwnedState<TrackedMachine> = {
    partition: 0,
    signal: new AbortController().signal,
    get: () => undefined,
    entries: () => new Map<string, TrackedMachine>().entries(),
    commit: (changes, records) => {
      this.commits.push({ changes, records });
      return new Promise((resolve, reject) => {
        this.releases.push((error) => {
          if (error === undefined) resolve();
          else reject(error);
        });
      });
    },
  };

  release(error?: Error): void {
    this.releases.shift()?.(error);
  }
}

describe('StatePublisher', () => {
  it('commits event, latest state and what is remembered together', async () => {
    const held = new HeldState();
    const { events, next } = derivation('M-1');
    const published = new StatePublisher(held.state, 'test.').publish({ events, next });
    held.release();
    await published;
    expect(held.commits[0]?.changes).toEqual([['M-1', next]]);
    const [event, latest] = held.commits[0]?.records ?? [];
    expect(event).toMatchObject({
      topic: `test.${TOPICS.stateChanges}`,
      key: 'M-1',
      value: JSON.stringify(events[0]?.event.data),
      headers: {
        ce_id: events[0]?.id,
        ce_sequence: '1',
        ce_subject: 'M-1',
        ce_source: '/machine-bridge/factories/F%201',
        ce_time: '2025-11-20T23:07:00Z',
      },
    });
    expect(latest).toMatchObject({ topic: `test.${TOPICS.states}`, key: 'M-1' });
  });

  it('shares a transaction among what becomes ready during the one before', async () => {
    const held = new HeldState();
    const publisher = new StatePublisher(held.state, '');
    const published = ['M-1', 'M-2', 'M-3'].map((id) => publisher.publish(derivation(id)));
    held.release();
    await published[0];
    held.release();
    await Promise.all(published);
    expect(held.commits.map(({ changes }) => changes.map(([key]) => key))).toEqual([
      ['M-1'],
      ['M-2', 'M-3'],
    ]);
  });

  it('cuts a long history into transactions of bounded size, in order', async () => {
    const held = new HeldState();
    const { events, next } = derivation('M-1', 1500);
    const published = new StatePublisher(held.state, '').publish({ events, next });
    held.release();
    const rest = published.then(() => 'published');
    while ((await Promise.race([rest, Promise.resolve('pending')])) === 'pending') held.release();
    const sequences = held.commits.flatMap(({ records }) =>
      records.flatMap(({ headers }) => headers['ce_sequence'] ?? []),
    );
    expect(sequences).toEqual(events.map(({ sequence }) => String(sequence)));
    expect(Math.max(...held.commits.map(({ records }) => records.length))).toBeLessThanOrEqual(
      1010,
    );
    for (const { changes, records } of held.commits) {
      const lastEvent = records.findLast(({ headers }) => 'ce_sequence' in headers);
      expect(String(changes.at(-1)?.[1]?.sequence)).toBe(lastEvent?.headers['ce_sequence']);
    }
    expect(held.commits.at(-1)?.changes.at(-1)?.[1]).toEqual(next);
  });

  it.each([
    ['a long history', [derivation('M-1', 300, LONG_NAME)]],
    [
      'many machines',
      Array.from({ length: 50 }, (_, index) => derivation(`M-${index}`, 1, LONG_NAME)),
    ],
  ])(
    'cuts %s by its bytes too: a batch that Kafka refuses would come back for ever',
    async (_, all) => {
      const held = new HeldState();
      const publisher = new StatePublisher(held.state, '');
      const published = Promise.all(all.map((each) => publisher.publish(each)));
      const rest = published.then(() => 'published');
      while ((await Promise.race([rest, Promise.resolve('pending')])) === 'pending') held.release();
      expect(Math.max(...held.commits.map(bytesOf))).toBeLessThanOrEqual(512 * 1024);
      const count = held.commits.flatMap(({ records }) =>
        records.filter(({ headers }) => 'ce_sequence' in headers),
      ).length;
      expect(count).toBe(all.reduce((sum, { events }) => sum + events.length, 0));
      const last = new Map(held.commits.flatMap(({ changes }) => changes));
      expect([...last.values()]).toEqual(all.map(({ next }) => next));
    },
  );

  it('fails everything that waits when a commit fails', async () => {
    const held = new HeldState();
    const publisher = new StatePublisher(held.state, '');
    const published = ['M-1', 'M-2'].map((id) => publisher.publish(derivation(id)));
    const results = Promise.allSettled(published);
    held.release(new Error('fenced'));
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(held.commits).toHaveLength(1);
  });
});
