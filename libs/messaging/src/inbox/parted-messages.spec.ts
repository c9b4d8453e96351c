import { type InboundMessage } from './inbound-message.js';
import { PartedMessages } from './parted-messages.js';
import { PartitionMessage } from './partition-message.js';
import { PartitionOwnership } from './partition-ownership.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a message that tells several things', () => {
  let ends: string[];
  /** By an earlier owner. */
  let done: Set<number>;
  let parted: PartedMessages;
  let message: PartitionMessage;

  beforeEach(() => {
    ends = [];
    done = new Set();
    parted = new PartedMessages(2);
    const place = { topic: 'changes', partition: 3, offset: 7, timestamp: '0', bytes: 90 };
    message = new PartitionMessage(
      { ...place, key: Buffer.from('a key'), value: Buffer.from('a value'), headers: [] },
      {
        ownership: new PartitionOwnership(),
        isDone: (_, item) => done.has(item),
        tell: (_, records, item) => ends.push(`told ${records.length} of ${item}`),
        finish: (whole, records) => {
          ends.push(`finished with ${records.length}`);
          whole.onFinished?.(whole);
        },
        ended: (_, how) => ends.push(how),
        failed: (_, error) => ends.push(`failed: ${String(error)}`),
      },
    );
  });

  const partsOf = (...told: string[]): InboundMessage[] =>
    parted.take(message, told).map(({ part }) => part);

  it('is as many, each told of its own', () => {
    const taken = parted.take(message, ['a', 'b', 'c']);
    expect(taken.map(({ told, index }) => [told, index])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
    ]);
    const [first] = taken;
    expect(first?.part).toMatchObject({ topic: 'changes', partition: 3, offset: 7, bytes: 30 });
    expect(first?.part.ownership).toBe(message.ownership);
    expect([first?.part.key, first?.part.value].map(String)).toEqual(['a key', 'a value']);
  });

  it('ends with the last of them, and whoever has handed it on hears of it once', () => {
    const [one, other] = partsOf('a', 'b');
    const told: unknown[] = [];
    for (const part of [one, other]) part!.onFinished = (whole) => told.push(whole);
    other?.finish();
    other?.finish();
    expect({ ends, told }).toEqual({ ends: ['told 0 of 1'], told: [] });
    one?.finish([{ topic: 'outcomes', key: null, value: '', headers: {} }]);
    expect({ ends: ends.slice(1), told }).toEqual({ ends: ['finished with 1'], told: [message] });
  });

  it('is abandoned where one of them is, but not before the others have ended', () => {
    const [one, other] = partsOf('a', 'b');
    one?.abandon();
    expect(ends).toEqual([]);
    other?.finish();
    expect(ends).toEqual(['abandoned']);
  });

  it('is handled anew where one fails, and that one alone', () => {
    const [one, other] = partsOf('a', 'b');
    one?.fail(new Error('a bug'));
    one?.finish();
    expect(ends).toEqual(['failed: Error: a bug']);
    message.handledAnew();
    const again = parted.take(message, ['a', 'b']);
    expect(again.map(({ told, index }) => [told, index])).toEqual([['a', 0]]);
    other?.finish();
    again[0]?.part.finish();
    expect(ends.slice(1)).toEqual(['told 0 of 1', 'finished with 0']);
  });

  it('is delivered again where what is left is abandoned, and what was told is not done again', () => {
    const [one, other] = partsOf('a', 'b');
    one?.finish();
    other?.abandon();
    expect(ends).toEqual(['told 0 of 0', 'abandoned']);
    expect(message.isDone(0)).toBe(true);
  });

  it('is not done again where an earlier owner has done it', () => {
    done = new Set([0, 2]);
    const taken = parted.take(message, ['a', 'b', 'c']);
    expect(taken.map(({ told }) => told)).toEqual(['b']);
    taken[0]?.part.finish();
    expect(ends).toEqual(['finished with 0']);
  });

  it('says of a part what is said before its end', () => {
    const [one] = partsOf('a', 'b');
    one?.tell([{ topic: 'outcomes', key: null, value: 'deferred', headers: {} }]);
    expect(ends).toEqual(['told 1 of undefined']);
    expect(one?.isDone(0)).toBe(false);
  });

  it('ends at once where all of it is done', () => {
    done = new Set([0, 1]);
    expect(parted.take(message, ['a', 'b'])).toEqual([]);
    expect(ends).toEqual(['finished with 0']);
  });

  it('has others wait while too many are under way, however they end', async () => {
    const [one, other, third] = partsOf('a', 'b', 'c');
    let hasRoom = false;
    void parted.room().then(() => (hasRoom = true));
    one?.finish();
    await nextTurn();
    expect(hasRoom).toBe(false);
    other?.fail(new Error('a bug'));
    await nextTurn();
    expect(hasRoom).toBe(true);
    third?.abandon();
    await parted.room();
  });
});
