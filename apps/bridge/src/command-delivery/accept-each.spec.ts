import { type InboundMessage } from '#libs/messaging';
import { acceptEach } from './accept-each.js';
import { inboundMessage } from './testing/inbound-message.js';

describe('acceptEach', () => {
  let failures: [offset: number, error: unknown][];

  beforeEach(() => {
    failures = [];
  });

  const messageAt = (offset: number): InboundMessage =>
    inboundMessage({ offset, fail: (error) => failures.push([offset, error]) });

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
