import { realDelayMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import type { OutboundRecord, TransactedState, StateChange } from '#libs/kafka';
import { type Derivation, deriveStateChanges } from '../derivation/derive-state-changes.js';
import type { TrackedMachine } from '../derivation/tracked-machine.js';
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

/** Undefined for a record that is no event. */
function sequenceOf({ headers }: OutboundRecord): string | undefined {
  return (headers as Partial<Record<string, string>>)['ce_sequence'];
}

/** Holds each commit until it is released. */
class HeldState {
  readonly commits: Commit[] = [];
  readonly remembered = new Map<string, TrackedMachine>();
  private readonly releases: ((error?: Error) => void)[] = [];

  readonly state: TransactedState<TrackedMachine> = {
    partition: 0,
    signal: new AbortController().signal,
    lost: new AbortController().signal,
    get: (machineId) => this.remembered.get(machineId),
    keys: () => this.remembered.keys(),
    entries: () => this.remembered.entries(),
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

  /** Waits for the next commit and lets it succeed or fail. */
  async release(error?: Error): Promise<void> {
    await this.untilWaiting();
    this.releases.shift()?.(error);
  }

  async untilWaiting(): Promise<void> {
    while (this.releases.length === 0) await realDelayMs(5);
  }

  async releaseUntil(published: Promise<unknown>): Promise<void> {
    const done = published.then(() => 'published');
    do {
      for (const release of this.releases.splice(0)) release();
    } while ((await Promise.race([done, realDelayMs(5)])) !== 'published');
  }
}

describe('StatePublisher', () => {
  it('commits event, latest state and tracked machine together', async () => {
    const held = new HeldState();
    const { events, next } = derivation('M-1');
    const published = new StatePublisher(held.state, 'test.').publishDerivation({ events, next });
    await held.release();
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

  it('serialises a long history one transaction at a time, which keeps the event loop free', async () => {
    const held = new HeldState();
    let written = 0;
    const derived = derivation('M-1', 5000);
    for (const { event } of derived.events) {
      const data = { ...event.data };
      Object.assign(event.data, { toJSON: () => ((written += 1), data) });
    }
    const published = new StatePublisher(held.state, '').publishDerivation(derived);
    await held.untilWaiting();
    expect(written).toBeLessThan(1500);
    await held.releaseUntil(published);
    expect(written).toBe(derived.events.length);
  });

  it('shares a transaction among derivations that are ready at about the same time, or during the previous one', async () => {
    const held = new HeldState();
    const publisher = new StatePublisher(held.state, '');
    const published = ['M-1', 'M-2'].map((id) => publisher.publishDerivation(derivation(id)));
    await held.untilWaiting();
    published.push(
      publisher.publishDerivation(derivation('M-3')),
      publisher.publishDerivation(derivation('M-4')),
    );
    await held.release();
    await held.release();
    await Promise.all(published);
    expect(held.commits.map(({ changes }) => changes.map(([key]) => key))).toEqual([
      ['M-1', 'M-2'],
      ['M-3', 'M-4'],
    ]);
  });

  it('cuts a long history into transactions of bounded size, in order', async () => {
    const held = new HeldState();
    const { events, next } = derivation('M-1', 1500);
    const published = new StatePublisher(held.state, '').publishDerivation({ events, next });
    await held.releaseUntil(published);
    const sequences = held.commits.flatMap(({ records }) =>
      records.flatMap((record) => sequenceOf(record) ?? []),
    );
    expect(sequences).toEqual(events.map(({ sequence }) => String(sequence)));
    expect(Math.max(...held.commits.map(({ records }) => records.length))).toBeLessThanOrEqual(
      1010,
    );
    for (const { changes, records } of held.commits) {
      const lastSequence = records.map(sequenceOf).findLast((sequence) => sequence !== undefined);
      expect(String(changes.at(-1)?.[1]?.sequence)).toBe(lastSequence);
    }
    expect(held.commits.at(-1)?.changes.at(-1)?.[1]).toEqual(next);
    // the first of them also has the machine's registry record
    const [first, ...others] = held.commits.map(
      (commit) => recordsOn(commit, TOPICS.registry).length,
    );
    expect([first, new Set(others)]).toEqual([1, new Set([0])]);
  });

  it.each([
    ['a long history', [derivation('M-1', 300, LONG_NAME)]],
    [
      'many machines',
      Array.from({ length: 50 }, (_, index) => derivation(`M-${index}`, 1, LONG_NAME)),
    ],
  ])(
    'cuts %s by its bytes too: a batch that Kafka refuses would be repeated without end',
    async (_, all) => {
      const held = new HeldState();
      const publisher = new StatePublisher(held.state, '');
      const published = Promise.all(all.map((each) => publisher.publishDerivation(each)));
      await held.releaseUntil(published);
      expect(Math.max(...held.commits.map(bytesOf))).toBeLessThanOrEqual(512 * 1024);
      const count = held.commits.flatMap(({ records }) =>
        records.filter((record) => sequenceOf(record) !== undefined),
      ).length;
      expect(count).toBe(all.reduce((sum, { events }) => sum + events.length, 0));
      const last = new Map(held.commits.flatMap(({ changes }) => changes));
      expect([...last.values()]).toEqual(all.map(({ next }) => next));
    },
  );

  const recordsOn = ({ records }: Commit, topic: string): (string | null)[] =>
    records.filter((record) => record.topic === topic).map(({ value }) => value as string | null);

  const publish = async (held: HeldState, next: TrackedMachine): Promise<Commit> => {
    const published = new StatePublisher(held.state, '').publishDerivation({ events: [], next });
    await held.releaseUntil(published);
    held.remembered.set(next.machineId, next);
    return held.commits.at(-1)!;
  };

  it('publishes a machine in the registry when it is new, renamed, or returns', async () => {
    const held = new HeldState();
    const { next } = derivation('M-1');
    const names = { machineId: 'M-1', displayName: 'M-1', factoryId: 'F 1', factoryName: 'Plant' };
    const first = await publish(held, next);
    expect(recordsOn(first, TOPICS.registry)).toEqual([JSON.stringify(names)]);
    expect(recordsOn(await publish(held, next), TOPICS.registry)).toEqual([]);
    const moved = await publish(held, { ...next, factoryId: 'F 2' });
    expect(recordsOn(moved, TOPICS.registry)).toEqual([
      JSON.stringify({ ...names, factoryId: 'F 2' }),
    ]);
    const gone = await publish(held, { ...next, observation: 'removed' });
    expect(recordsOn(gone, TOPICS.registry)).toEqual([null]);
    expect(recordsOn(gone, TOPICS.classificationReasons)).toEqual([null]);
    const still = await publish(held, { ...next, observation: 'removed' });
    expect(recordsOn(still, TOPICS.registry)).toEqual([]);
    expect(recordsOn(await publish(held, next), TOPICS.registry)).toEqual([JSON.stringify(names)]);
  });

  it('publishes no state of a machine before its first event', async () => {
    const held = new HeldState();
    const { next } = derivation('M-1');
    const unseen = await publish(held, { ...next, sequence: 0, periods: [] });
    expect(recordsOn(unseen, TOPICS.registry)).toHaveLength(1);
    expect(recordsOn(unseen, TOPICS.states)).toEqual([]);
    expect(recordsOn(await publish(held, next), TOPICS.states)).toHaveLength(1);
  });

  it('fails all waiting derivations when a commit fails', async () => {
    const held = new HeldState();
    const publisher = new StatePublisher(held.state, '');
    const published = ['M-1', 'M-2'].map((id) => publisher.publishDerivation(derivation(id)));
    const results = Promise.allSettled(published);
    await held.release(new Error('fenced'));
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(held.commits).toHaveLength(1);
  });
});
