import { PartitionOwnership, type RecordPlace, type StoredRecord } from '#libs/kafka';
import { GatheredReads } from './gathered-reads.js';

const never = new PartitionOwnership().signal;

const place = (offset: number): RecordPlace => ({ topic: 'orders', partition: 0, offset });

const recordAt = (where: RecordPlace): StoredRecord => ({
  ...where,
  timestamp: '0',
  key: null,
  value: Buffer.from(`value ${where.offset}`),
  headers: [],
});

describe('reads that are gathered', () => {
  /** Offsets of each read. */
  let asked: number[][];
  let answer: (
    places: readonly RecordPlace[],
    signal: AbortSignal,
  ) => Promise<(StoredRecord | undefined)[]>;
  let reads: GatheredReads;

  beforeEach(() => {
    asked = [];
    answer = (places) => Promise.resolve(places.map(recordAt));
    reads = new GatheredReads((places, signal) => {
      asked.push(places.map(({ offset }) => offset));
      return answer(places, signal);
    });
  });

  const valueAt = async (offset: number, signal = never): Promise<string | undefined> =>
    (await reads.read(place(offset), signal))?.value?.toString();

  it('are one read, which asks for each place once and tells everybody of his own', async () => {
    const values = await Promise.all([7, 8, 7, 9].map((offset) => valueAt(offset)));
    expect(values).toEqual(['value 7', 'value 8', 'value 7', 'value 9']);
    expect(asked).toEqual([[7, 8, 9]]);
  });

  it('tell of a record that is lost', async () => {
    answer = (places) =>
      Promise.resolve(places.map((each) => (each.offset === 7 ? undefined : recordAt(each))));
    expect(await Promise.all([valueAt(7), valueAt(8)])).toEqual([undefined, 'value 8']);
  });

  it('hold no more than a hundred messages at once', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, offset) => valueAt(offset)));
    expect(asked.map(({ length }) => length)).toEqual([100, 100, 50]);
  });

  it('follow one another, with all that was asked for meanwhile', async () => {
    const later: Promise<string | undefined>[] = [];
    answer = (places) => {
      if (later.length === 0) later.push(valueAt(8), valueAt(9));
      return Promise.resolve(places.map(recordAt));
    };
    await valueAt(7);
    expect(await Promise.all(later)).toEqual(['value 8', 'value 9']);
    expect(asked).toEqual([[7], [8, 9]]);
  });

  it('go on until Kafka answers', async () => {
    let failures = 2;
    answer = (places) => {
      failures -= 1;
      return failures < 0
        ? Promise.resolve(places.map(recordAt))
        : Promise.reject(new Error('Kafka is away'));
    };
    expect(await valueAt(7)).toBe('value 7');
    expect(asked).toEqual([[7], [7], [7]]);
  });

  it('end once nobody waits any more, and not before', async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const signals: AbortSignal[] = [];
    const begun = new Promise<void>((resolve) => {
      answer = (_, signal) => {
        signals.push(signal);
        resolve();
        return new Promise((__, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        });
      };
    });
    const waiting = [valueAt(7, one.signal), valueAt(8, other.signal)];
    await begun;
    one.abort(new Error('one is lost'));
    await expect(waiting[0]).rejects.toThrow('one is lost');
    expect(signals[0]?.aborted).toBe(false);
    other.abort(new Error('the other is lost'));
    await expect(waiting[1]).rejects.toThrow('the other is lost');
    expect(signals[0]?.aborted).toBe(true);
    answer = (places) => Promise.resolve(places.map(recordAt));
    expect(await valueAt(9)).toBe('value 9');
  });
});
