import { realDelayMs } from '#libs/clock';
import { type OwnedState, PartitionOwnership } from '#libs/messaging';
import { PartitionWriter } from './partition-writer.js';
import { messageAt } from './testing/message-at.js';
import { type Entry } from './waiting-entries.js';

const unknown = new Error('not known to be committed');
const tooLarge = Object.assign(new Error('too large'), { type: 'MESSAGE_TOO_LARGE' });

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Counted extends Entry {
  number: number;
}

/** Sums numbers; a commit ends when the test says so. */
class HeldState implements OwnedState<number> {
  readonly partition = 0;
  readonly signal = new AbortController().signal;
  readonly lost = new AbortController().signal;
  /** Sums that were asked to be written. */
  readonly writes: number[] = [];
  paceMs = 0;
  private end: (error?: Error) => void = () => undefined;

  constructor(public sum = 0) {}

  get(): number {
    return this.sum;
  }

  keys(): IterableIterator<string> {
    return new Map([['sum', this.sum]]).keys();
  }

  entries(): IterableIterator<[string, number]> {
    return new Map([['sum', this.sum]]).entries();
  }

  commit([change]: readonly (readonly [string, number | null])[]): Promise<void> {
    const sum = change?.[1] ?? 0;
    this.writes.push(sum);
    return new Promise((resolve, reject) => {
      this.end = (error) => {
        if (error === undefined) this.sum = sum;
        if (error === undefined) resolve();
        else reject(error);
      };
    });
  }

  async committed(): Promise<void> {
    this.end();
    await nextTurn();
  }

  async failed(error = unknown): Promise<void> {
    this.end(error);
    await nextTurn();
  }
}

describe('PartitionWriter', () => {
  let ownership: PartitionOwnership;
  let state: HeldState;
  /** What became of each number, in the order it came about. */
  let told: string[];
  let writer: PartitionWriter<number, Counted>;

  beforeEach(() => {
    [ownership, state, told] = [new PartitionOwnership(), new HeldState(), []];
    writer = new PartitionWriter<number, Counted>({
      restored: (restored) => told.push(`restored ${restored.get('sum')}`),
      derive: (owned, entries) => {
        if (entries.some(({ number }) => number === 13 || number === 14)) throw new Error('13');
        const sum = entries.reduce((total, { number }) => total + number, owned.get('sum') ?? 0);
        return {
          changes: entries.every(({ number }) => number === 0) ? [] : [['sum', sum]],
          records: [],
          conclude: () => {
            if (entries.some(({ number }) => number === 17)) throw new Error('17');
            told.push(`${entries.map(({ number }) => number).join('+')} written`);
          },
        };
      },
      refuse: ({ number }, { why }) => {
        if (number === 14) throw new Error('14');
        told.push(`${number} ${why}`);
      },
    });
  });

  const entry = (number: number, bytes = 1, owner = ownership): Counted => {
    const message = messageAt(number, {
      ...{ bytes, ownership: owner },
      finish: () => told.push(`${number} finished`),
      abandon: () => told.push(`${number} abandoned`),
      fail: () => told.push(`${number} failed`),
    });
    return { message, number };
  };

  it('writes what comes while a transaction is under way together, once that has ended', async () => {
    writer.own(state);
    told = [];
    writer.take([entry(1)]);
    writer.take([entry(2), entry(3)]);
    writer.take([entry(4)]);
    expect(state.writes).toEqual([1]);
    await state.committed();
    expect(told).toEqual(['1 written']);
    expect(state.writes).toEqual([1, 10]);
    await state.committed();
    expect(told).toEqual(['1 written', '2+3+4 written']);
  });

  it('lets what comes soon after a transaction share the next', async () => {
    state.paceMs = 1000;
    writer.own(state);
    writer.take([entry(1)]);
    await state.committed();
    writer.take([entry(2)]);
    await nextTurn();
    writer.take([entry(3)]);
    expect(state.writes).toEqual([1]);
    while (state.writes.length < 2) await realDelayMs(20);
    expect(state.writes).toEqual([1, 6]);
  });

  it('waits for nothing more where the next transaction is full, or for one message alone', async () => {
    state.paceMs = 60_000;
    writer.own(state);
    writer.take(Array.from({ length: 1000 }, () => entry(1)));
    await state.committed();
    writer.take([...Array.from({ length: 998 }, () => entry(0)), entry(13), entry(2)]);
    await nextTurn();
    await state.committed();
    expect(state.writes).toEqual([1000, 1002]);
    expect(told.slice(-2)).toEqual(['13 defect', '2 written']);
    writer.take([entry(1, 2_100_000), entry(1, 2_100_000)]);
    await state.committed();
    await state.committed();
    expect(state.writes.slice(2)).toEqual([1003, 1004]);
  });

  it('has room for others until so much waits that the next transaction is full', async () => {
    let rooms = 0;
    const ask = async (): Promise<void> => {
      await writer.room();
      rooms += 1;
    };
    writer.take(Array.from({ length: 999 }, () => entry(1)));
    await ask();
    writer.take([entry(1)]);
    const [asked, askedToo] = [ask(), ask()];
    await nextTurn();
    expect(rooms).toBe(1);
    writer.own(state);
    await Promise.all([asked, askedToo]);
    writer.take([entry(1, 2_100_000)]);
    const heard = ask();
    ownership.lose(new Error('lost'));
    await heard;
    expect(rooms).toBe(4);
  });

  it('has room again where what was to be written one by one is lost', async () => {
    writer.own(state);
    writer.take([entry(1), entry(2)]);
    await state.failed(tooLarge);
    let hasRoom = false;
    const room = writer.room().then(() => (hasRoom = true));
    await nextTurn();
    expect(hasRoom).toBe(false);
    ownership.lose(new Error('lost'));
    await room;
    expect(writer.isIdle).toBe(true);
  });

  it('has nothing more to do once its partition is lost, while it waits to write', async () => {
    state.paceMs = 500;
    writer.own(state);
    writer.take([entry(1)]);
    await state.committed();
    writer.take([entry(2)]);
    expect(writer.isIdle).toBe(false);
    ownership.lose(new Error('lost'));
    expect(writer.isIdle).toBe(true);
  });

  it('writes at once what comes after turns that had nothing to write', async () => {
    state.paceMs = 60_000;
    writer.own(state);
    writer.take([entry(0)]);
    await nextTurn();
    writer.take([entry(1)]);
    expect(state.writes).toEqual([1]);
  });

  it('cuts what is much into several transactions, by bytes and by number', async () => {
    writer.own(state);
    writer.take([entry(1, 1_600_000), entry(2, 1_600_000), entry(3, 3_600_000)]);
    for (let left = 3; left > 0; left -= 1) await state.committed();
    expect(state.writes).toEqual([1, 3, 6]);
    writer.take(Array.from({ length: 1250 }, () => entry(1)));
    await state.committed();
    await state.committed();
    expect(state.writes).toEqual([1, 3, 6, 1006, 1256]);
  });

  it('waits for a partition that is not restored yet', () => {
    writer.take([entry(1)]);
    expect(state.writes).toEqual([]);
    writer.own(state);
    expect(state.writes).toEqual([1]);
  });

  it('writes nothing where nothing changes', async () => {
    writer.own(state);
    writer.take([entry(0)]);
    await nextTurn();
    expect(state.writes).toEqual([]);
    expect(told).toContain('0 written');
  });

  it('asks what is to be written without a message when it is told to, with the messages where some wait', async () => {
    writer.flush();
    expect(told).toEqual([]);
    writer.own(state);
    await nextTurn();
    expect(told).toEqual(['restored 0', ' written']);
    writer.take([entry(1)]);
    writer.flush();
    writer.take([entry(2)]);
    await state.committed();
    await state.committed();
    expect(told.slice(2)).toEqual(['1 written', '2 written']);
  });

  it('derives anew from what Kafka holds after a transaction whose fate is not known', async () => {
    writer.own(state);
    writer.take([entry(1)]);
    await state.failed();
    writer.take([entry(2)]);
    expect(state.writes).toEqual([1]);
    state = new HeldState(1);
    writer.own(state);
    expect(state.writes).toEqual([4]);
    await state.committed();
    expect(told.slice(-2)).toEqual(['restored 1', '1+2 written']);
  });

  it('goes by the newer restore when an old transaction fails late', async () => {
    writer.own(state);
    writer.take([entry(1)]);
    const newer = new HeldState(10);
    writer.own(newer);
    await state.failed();
    expect(newer.writes).toEqual([11]);
  });

  it('abandons what waits when its partition is lost, and only that', async () => {
    const other = new PartitionOwnership();
    writer.take([entry(1), entry(2, 1, other)]);
    ownership.lose(new Error('lost'));
    expect(told).toEqual(['1 abandoned']);
    writer.own(state);
    expect(state.writes).toEqual([2]);
    writer.take([entry(3)]);
    expect(told).toContain('3 abandoned');
    await state.committed();
    expect(told.at(-1)).toBe('2 written');
  });

  it('answers what was written although the partition was lost meanwhile, and abandons it when it was not', async () => {
    writer.own(state);
    writer.take([entry(1)]);
    ownership.lose(new Error('lost'));
    await state.committed();
    expect(told.at(-1)).toBe('1 written');
    ownership = new PartitionOwnership();
    writer.take([entry(2)]);
    ownership.lose(new Error('lost'));
    await state.failed();
    expect(told.at(-1)).toBe('2 abandoned');
  });

  it('sets aside alone what is too large, with those before and behind it written', async () => {
    writer.own(state);
    writer.take([entry(1)]);
    writer.take([entry(2), entry(3), entry(4)]);
    await state.committed();
    await state.failed(tooLarge);
    state = new HeldState(1);
    writer.own(state);
    await state.committed();
    await state.failed(tooLarge);
    state = new HeldState(3);
    writer.own(state);
    await state.committed();
    expect(told.filter((what) => !what.startsWith('restored'))).toEqual([
      '1 written',
      '2 written',
      '3 too-large',
      '4 written',
    ]);
    expect(state.sum).toBe(7);
  });

  it('sets aside alone, and at once, the message that brings a bug out', async () => {
    writer.own(state);
    writer.take([entry(1)]);
    writer.take([entry(2), entry(13), entry(4)]);
    for (let left = 3; left > 0; left -= 1) await state.committed();
    expect(told).toEqual(['restored 0', '1 written', '2 written', '13 defect', '4 written']);
  });

  it('sets aside what cannot be encoded, but not for an error that passes', async () => {
    const unencodable = new Error('not a string');
    unencodable.name = 'UnencodableMessageError';
    writer.own(state);
    writer.take([entry(1)]);
    await state.failed(unencodable);
    writer.take([entry(2)]);
    for (const error of [new TypeError('a passing one'), undefined]) {
      state = new HeldState();
      writer.own(state);
      if (error === undefined) await state.committed();
      else await state.failed(error);
    }
    expect(told.filter((what) => !what.startsWith('restored'))).toEqual(['1 defect', '2 written']);
  });

  it('has messages handled anew that are written and cannot be answered, and goes on', async () => {
    writer.own(state);
    writer.take([entry(17)]);
    await state.committed();
    writer.take([entry(4)]);
    await state.committed();
    expect(told).toEqual(['restored 0', '17 failed', '4 written']);
    expect(state.sum).toBe(21);
  });

  it('goes on after a refusal that cannot be told', async () => {
    writer.own(state);
    writer.take([entry(14), entry(4)]);
    await nextTurn();
    await state.committed();
    expect(told).toEqual(['restored 0', '14 failed', '4 written']);
  });

  it('never takes in later what it has refused: those behind it are written by then', async () => {
    writer.own(state);
    const refused = entry(13);
    writer.take([refused]);
    writer.take([entry(4)]);
    await nextTurn();
    await state.committed();
    writer.take([refused]);
    await nextTurn();
    expect(told).toEqual(['restored 0', '13 defect', '4 written', '13 defect']);
    expect(state.writes).toEqual([4]);
  });
});
