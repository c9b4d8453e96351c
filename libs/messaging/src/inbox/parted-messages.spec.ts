import { type InboundMessage } from './inbound-message.js';
import { PartedMessages } from './parted-messages.js';
import { PartitionMessage } from './partition-message.js';
import { PartitionOwnership } from './partition-ownership.js';

const nothingDone = (): boolean => false;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a message that tells several things', () => {
  let ends: string[];
  let parted: PartedMessages;
  let message: PartitionMessage;

  beforeEach(() => {
    ends = [];
    parted = new PartedMessages(2);
    const place = { topic: 'changes', partition: 3, offset: 7, timestamp: '0', bytes: 90 };
    message = new PartitionMessage(
      { ...place, key: Buffer.from('a key'), value: Buffer.from('a value'), headers: [] },
      {
        ownership: new PartitionOwnership(),
        doneInPart: () => ends.push('done in part'),
        ended: (_, how) => ends.push(how),
        failed: (_, error) => ends.push(`failed: ${String(error)}`),
      },
    );
  });

  const partsOf = (...told: string[]): InboundMessage[] =>
    parted.take(message, told, nothingDone).map(({ part }) => part);

  it('is as many, each told of its own', () => {
    const taken = parted.take(message, ['a', 'b', 'c'], nothingDone);
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
    expect({ ends, told }).toEqual({ ends: [], told: [] });
    one?.finish();
    expect({ ends, told }).toEqual({ ends: ['finished'], told: [message] });
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
    const again = parted.take(message, ['a', 'b'], nothingDone);
    expect(again.map(({ told, index }) => [told, index])).toEqual([['a', 0]]);
    other?.finish();
    again[0]?.part.finish();
    expect(ends.slice(1)).toEqual(['finished']);
  });

  it('is told in part from the first that is finished until all are, or what is done is remembered', () => {
    const { telling } = message.ownership;
    const [one, other, third] = partsOf('a', 'b', 'c');
    const sinceMs = Date.now();
    expect(telling.inPartSinceMs).toBeUndefined();
    one?.finish();
    expect(telling.inPartSinceMs).toBeLessThanOrEqual(sinceMs);
    parted.remembered(7, (index) => index === 0);
    expect(telling.inPartSinceMs).toBeUndefined();
    other?.finish();
    parted.remembered(7, (index) => index === 0);
    expect(telling.inPartSinceMs).toBeLessThanOrEqual(sinceMs);
    third?.finish();
    expect(telling.inPartSinceMs).toBeUndefined();
  });

  it('stays told in part where what is left is abandoned: it is delivered again', () => {
    const [one, other] = partsOf('a', 'b');
    one?.finish();
    other?.abandon();
    expect(message.ownership.telling.inPartSinceMs).toBeDefined();
  });

  it('is not done again where that is remembered', () => {
    const taken = parted.take(message, ['a', 'b', 'c'], (index) => index !== 1);
    expect(taken.map(({ told }) => told)).toEqual(['b']);
    expect(message.ownership.telling.inPartSinceMs).toBeUndefined();
    taken[0]?.part.finish();
    expect(ends).toEqual(['finished']);
  });

  it('ends at once where all of it is done', () => {
    expect(parted.take(message, ['a', 'b'], () => true)).toEqual([]);
    expect(ends).toEqual(['finished']);
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
