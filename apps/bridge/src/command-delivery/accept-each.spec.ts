import { type InboundMessage, PartitionOwnership } from '#libs/messaging';
import { acceptEach } from './accept-each.js';

describe('acceptEach', () => {
  let failures: [offset: number, error: unknown][];

  beforeEach(() => {
    failures = [];
  });

  const messageAt = (offset: number): InboundMessage => {
    const place = { topic: 'a-topic', partition: 0, offset, timestamp: '0', bytes: 1 };
    return {
      ...{ ...place, key: null, value: null, headers: [], ownership: new PartitionOwnership() },
      finish: () => undefined,
      doneInPart: () => undefined,
      abandon: () => undefined,
      fail: (error) => failures.push([offset, error]),
    };
  };

  it('takes messages in the order they come in', () => {
    const taken: number[] = [];
    acceptEach([3, 5, 4].map(messageAt), ({ offset }) => taken.push(offset));
    expect(taken).toEqual([3, 5, 4]);
    expect(failures).toEqual([]);
  });

  it('fails the one message it cannot take, and takes those behind it', () => {
    const taken: number[] = [];
    const bug = new Error('a bug');
    acceptEach([3, 4, 5].map(messageAt), ({ offset }) => {
      if (offset === 4) throw bug;
      taken.push(offset);
    });
    expect(taken).toEqual([3, 5]);
    expect(failures).toEqual([[4, bug]]);
  });
});
