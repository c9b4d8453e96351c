import fc from 'fast-check';
import { type QueuedList } from './list-batch.js';
import { ListQueue } from './list-queue.js';

const list = (machineId: string, payload = 0, bytes = 1): QueuedList<number> => ({
  machineId,
  payload,
  bytes,
  attempts: 0,
});

const idsOf = (batch: readonly QueuedList<number>[]): string[] =>
  batch.map(({ machineId }) => machineId);

describe('ListQueue', () => {
  let queue: ListQueue<number>;

  beforeEach(() => {
    queue = new ListQueue({ maxMachines: 4, maxBytes: 100 });
  });

  const offer = (...machineIds: string[]): void => {
    for (const machineId of machineIds) queue.offer(list(machineId));
  };

  it('puts lists of different machines into one batch, oldest first, up to its limit', () => {
    offer('a', 'b', 'c', 'd', 'e');
    expect(idsOf(queue.take(0))).toEqual(['a', 'b', 'c', 'd']);
    expect(idsOf(queue.take(0))).toEqual(['e']);
    expect(queue.take(0)).toEqual([]);
  });

  it('cuts a batch by bytes, and lets a list that is larger than a batch go alone', () => {
    queue.offer(list('a', 0, 60));
    queue.offer(list('b', 0, 60));
    queue.offer(list('c', 0, 500));
    expect([queue.take(0), queue.take(0), queue.take(0)].map(idsOf)).toEqual([['a'], ['b'], ['c']]);
  });

  it('hands back the older list of a machine when a newer one comes', () => {
    expect(queue.offer(list('a', 1))).toBeUndefined();
    expect(queue.offer(list('a', 2))).toMatchObject({ payload: 1 });
    expect(queue.take(0)).toMatchObject([{ payload: 2 }]);
  });

  it('sends nothing for a machine that has a list under way', () => {
    offer('a');
    const [sent] = queue.take(0);
    queue.offer(list('a', 2));
    expect(queue.take(0)).toEqual([]);
    queue.settle(sent!, 'fine');
    expect(queue.take(0)).toMatchObject([{ payload: 2 }]);
  });

  it('sends a list again when its time has come, and not before', () => {
    offer('a', 'b');
    const [a, b] = queue.take(0);
    queue.retry(a!, 500, 'fine');
    queue.settle(b!, 'fine');
    expect(queue.nextRetryMs(0)).toBe(500);
    expect(queue.take(499)).toEqual([]);
    expect(idsOf(queue.take(500))).toEqual(['a']);
  });

  it('gives up a list that failed for the newer one that came meanwhile, which inherits the wait', () => {
    offer('a');
    const [sent] = queue.take(0);
    queue.offer(list('a', 2));
    expect(queue.retry(sent!, 500, 'fine')).toBe(sent);
    expect(queue.take(499)).toEqual([]);
    expect(queue.take(500)).toMatchObject([{ payload: 2 }]);
  });

  it('leaves a machine in ever smaller company while its batches go wrong', () => {
    const sizes: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      offer('bad', 'x', 'y', 'z');
      const batch = queue.take(0);
      sizes.push(batch.length);
      for (const entry of batch) {
        queue.settle(entry, entry.machineId === 'bad' ? 'suspect' : 'fine');
      }
      for (let rest = queue.take(0); rest.length > 0; rest = queue.take(0)) {
        for (const entry of rest) queue.settle(entry, 'fine');
      }
    }
    expect(sizes).toEqual([4, 2, 1, 1]);
  });

  it('sends a machine alone that was at fault alone, until a call of its own goes well', () => {
    offer('a');
    queue.settle(queue.take(0)[0]!, 'at-fault');
    offer('a', 'b', 'c');
    const alone = queue.take(0);
    expect(idsOf(alone)).toEqual(['a']);
    queue.settle(alone[0]!, 'fine');
    offer('a');
    expect(idsOf(queue.take(0))).toEqual(['b', 'c', 'a']);
  });

  it('forgets the suspect longest idle rather than growing with every wrong name', () => {
    for (let number = 0; number < 10_500; number += 1) {
      offer(`wrong-${number}`);
      queue.settle(queue.take(0)[0]!, 'at-fault');
    }
    expect(queue.size).toBe(10_000);
    offer('wrong-10499', 'x');
    expect(idsOf(queue.take(0))).toEqual(['wrong-10499']);
  });

  it('loses nothing, doubles nothing and keeps each machine’s order, whatever happens', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('offer' as const), machine: fc.nat(4) }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({
        kind: fc.constantFrom('settle' as const, 'retry' as const),
        pick: fc.nat(9),
        conduct: fc.constantFrom('fine' as const, 'suspect' as const, 'at-fault' as const),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const tested = new ListQueue<number>({ maxMachines: 3, maxBytes: 10 });
        const underWay: QueuedList<number>[] = [];
        const done = new Map<string, number[]>();
        const finish = ({ machineId, payload }: QueuedList<number>): void => {
          done.set(machineId, [...(done.get(machineId) ?? []), payload]);
        };
        let now = 0;
        let offered = 0;
        for (const it of steps) {
          now += 1;
          if (it.kind === 'offer') {
            offered += 1;
            const superseded = tested.offer(list(`m${it.machine}`, offered));
            if (superseded !== undefined) finish(superseded);
          } else if (it.kind === 'take') {
            const batch = tested.take(now);
            expect(new Set(idsOf([...underWay, ...batch])).size).toBe(
              underWay.length + batch.length,
            );
            underWay.push(...batch);
          } else {
            const [entry] = underWay.splice(it.pick % Math.max(1, underWay.length), 1);
            if (entry === undefined) continue;
            const outdated =
              it.kind === 'retry' ? tested.retry(entry, now + 3, it.conduct) : undefined;
            if (outdated !== undefined) finish(outdated);
            if (it.kind === 'settle') {
              tested.settle(entry, it.conduct);
              finish(entry);
            }
          }
        }
        for (const entry of underWay) {
          tested.settle(entry, 'fine');
          finish(entry);
        }
        for (let rest = tested.take(Infinity); rest.length > 0; rest = tested.take(Infinity)) {
          for (const entry of rest) {
            tested.settle(entry, 'fine');
            finish(entry);
          }
        }
        const all = [...done.values()].flat();
        expect(all.sort((a, b) => a - b)).toEqual(Array.from({ length: offered }, (_, i) => i + 1));
        expect(tested.waiting).toBe(0);
      }),
    );
  });
});
