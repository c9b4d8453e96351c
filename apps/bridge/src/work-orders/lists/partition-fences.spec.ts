import { type OwnedState, PartitionOwnership } from '#libs/messaging';
import { PartitionFences } from './partition-fences.js';

const lost = new Error('the partition is lost');
const unknown = new Error('not known to be committed');

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** State as Kafka gives it out, whose commits end when the test says so. */
class HeldState implements OwnedState<number> {
  readonly partition = 0;
  readonly signal = new AbortController().signal;
  readonly lost = new AbortController().signal;
  /** What was asked to be written, one entry a transaction. */
  readonly writes: Record<string, number | null>[] = [];
  private end: (error?: Error) => void = () => undefined;

  constructor(private readonly fences = new Map<string, number>()) {}

  get(key: string): number | undefined {
    return this.fences.get(key);
  }

  keys(): IterableIterator<string> {
    return this.fences.keys();
  }

  entries(): IterableIterator<[string, number]> {
    return this.fences.entries();
  }

  commit(changes: readonly (readonly [string, number | null])[]): Promise<void> {
    this.writes.push(Object.fromEntries(changes));
    return new Promise((resolve, reject) => {
      this.end = (error) => {
        if (error !== undefined) {
          reject(error);
          return;
        }
        for (const [key, value] of changes) if (value !== null) this.fences.set(key, value);
        resolve();
      };
    });
  }

  async committed(): Promise<void> {
    this.end();
    await nextTurn();
  }

  async failed(): Promise<void> {
    this.end(unknown);
    await nextTurn();
  }
}

describe('PartitionFences', () => {
  let ownership: PartitionOwnership;
  let fences: PartitionFences;
  let state: HeldState;
  /** What became of each {@link raise}, in the order it came about. */
  let told: unknown[];

  beforeEach(() => {
    ownership = new PartitionOwnership();
    fences = new PartitionFences(() => false);
    state = new HeldState(new Map([['M-0', 5]]));
    told = [];
  });

  const raise = (machineId: string, issuedAt: number, owner = ownership): void => {
    fences.raise(owner, machineId, issuedAt).then(
      () => told.push(`${machineId} ${issuedAt}`),
      (error: unknown) => told.push(error),
    );
  };

  it('knows what it was restored with', () => {
    fences.own(state);
    expect(fences.issuedAt('M-0')).toBe(5);
    expect(fences.issuedAt('M-1')).toBeUndefined();
  });

  it('is raised at once for whoever asks, and says so once Kafka has it', async () => {
    fences.own(state);
    raise('M-1', 10);
    expect(fences.issuedAt('M-1')).toBe(10);
    await nextTurn();
    expect(told).toEqual([]);
    await state.committed();
    expect(told).toEqual(['M-1 10']);
    expect(fences.issuedAt('M-1')).toBe(10);
  });

  it('writes in one transaction what comes while another is under way, the newest of each machine', async () => {
    fences.own(state);
    raise('M-1', 10);
    raise('M-2', 20);
    raise('M-1', 11);
    raise('M-2', 21);
    expect(state.writes).toEqual([{ 'M-1': 10 }]);
    await state.committed();
    expect(told).toEqual(['M-1 10']);
    expect(fences.issuedAt('M-1')).toBe(11);
    expect(state.writes).toEqual([{ 'M-1': 10 }, { 'M-1': 11, 'M-2': 21 }]);
    await state.committed();
    expect(told).toEqual(['M-1 10', 'M-2 20', 'M-1 11', 'M-2 21']);
    expect(state.writes).toHaveLength(2);
  });

  it('waits with its writes until it is restored', async () => {
    raise('M-1', 10);
    await nextTurn();
    expect(fences.issuedAt('M-1')).toBe(10);
    expect(told).toEqual([]);
    fences.own(state);
    await state.committed();
    expect(state.writes).toEqual([{ 'M-1': 10 }]);
    expect(told).toEqual(['M-1 10']);
  });

  it('writes again, once restored anew, what may not have been written', async () => {
    fences.own(state);
    raise('M-1', 10);
    raise('M-2', 20);
    await state.failed();
    raise('M-1', 11);
    expect(told).toEqual([]);
    expect(state.writes).toHaveLength(1);
    expect(fences.issuedAt('M-1')).toBe(11);
    const restored = new HeldState();
    fences.own(restored);
    expect(fences.issuedAt('M-1')).toBe(11);
    expect(restored.writes).toEqual([{ 'M-1': 11, 'M-2': 20 }]);
    await restored.committed();
    expect(told).toEqual(['M-1 10', 'M-2 20', 'M-1 11']);
    raise('M-3', 30);
    expect(restored.writes).toHaveLength(2);
  });

  it('goes on with the state it was given when one of before fails late', async () => {
    fences.own(state);
    raise('M-1', 10);
    const restored = new HeldState();
    fences.own(restored);
    await state.failed();
    expect(restored.writes).toEqual([{ 'M-1': 10 }]);
    await restored.committed();
    expect(told).toEqual(['M-1 10']);
  });

  it('goes by what another process has raised meanwhile', async () => {
    fences.own(state);
    raise('M-1', 10);
    await state.committed();
    fences.own(new HeldState(new Map([['M-1', 30]])));
    expect(fences.issuedAt('M-1')).toBe(30);
    expect(fences.issuedAt('M-0')).toBeUndefined();
  });

  it('goes by what another process has raised, whatever it could not write itself before', async () => {
    fences.own(state);
    raise('M-1', 10);
    raise('M-2', 20);
    await state.failed();
    ownership.lose(lost);
    fences.own(new HeldState(new Map([['M-1', 30]])));
    expect(fences.issuedAt('M-1')).toBe(30);
    expect(fences.issuedAt('M-2')).toBeUndefined();
  });

  it('gives up what waits when its partition is lost, and that alone', async () => {
    const elsewhere = new PartitionOwnership();
    raise('M-1', 10, elsewhere);
    raise('M-2', 20);
    elsewhere.lose(lost);
    await nextTurn();
    expect(told).toEqual([lost]);
    fences.own(state);
    await state.committed();
    expect(state.writes).toEqual([{ 'M-2': 20 }]);
    expect(told).toEqual([lost, 'M-2 20']);
  });

  it.each([
    ['says so when that was written', 'committed', ['M-1 10']],
    ['gives it up when that is not known', 'failed', [lost]],
  ] as const)(
    'waits for a write under way when its partition is lost, and %s',
    async (_, end, expected) => {
      fences.own(state);
      raise('M-1', 10);
      ownership.lose(lost);
      await nextTurn();
      expect(told).toEqual([]);
      await state[end]();
      expect(told).toEqual(expected);
      expect(state.writes).toHaveLength(1);
    },
  );

  it('writes at a stop what was applied last, as long as the state is still open', async () => {
    fences.own(state);
    ownership.lose(lost);
    raise('M-1', 10);
    await nextTurn();
    await state.committed();
    expect(told).toEqual(['M-1 10']);
  });

  it('raises nothing for a partition that is lost, and its state with it', async () => {
    ownership.lose(lost);
    raise('M-1', 10);
    await nextTurn();
    expect(told).toEqual([lost]);
  });
});
