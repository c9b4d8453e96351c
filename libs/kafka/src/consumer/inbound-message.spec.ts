import { realNowMs } from '#libs/clock';
import { parsed, type Parsed } from '#libs/contracts';
import { decodeFirst, type InboundMessage, type ValueDecoder } from './inbound-message.js';

class TestMessage {
  decoded: Parsed<Buffer> | undefined;
  ended: unknown;
  private readonly losing = new AbortController();
  readonly revoked = this.losing.signal;

  constructor(readonly offset: number) {}

  lose(): void {
    this.losing.abort(new Error('revoked'));
  }

  abandon(): void {
    this.ended = 'abandoned';
  }

  fail(error: unknown): void {
    this.ended = error;
  }
}

describe('messages whose values are decoded first', () => {
  let handed: number[][];
  let messages: TestMessage[];

  beforeEach(() => {
    handed = [];
    messages = [0, 1, 2, 3].map((offset) => new TestMessage(offset));
  });

  const handOver = (decode: ValueDecoder): Promise<void> =>
    decodeFirst(decode, (chunk) => {
      handed.push(chunk.map(({ offset }) => offset));
      return Promise.resolve();
    })(messages as unknown as InboundMessage[]);

  it('are handed over together if none has to wait', async () => {
    await handOver(({ offset }) => (offset === 1 ? parsed(Buffer.from('x')) : undefined));
    expect(handed).toEqual([[0, 1, 2, 3]]);
    expect(messages.map(({ decoded }) => decoded?.ok)).toEqual([
      undefined,
      true,
      undefined,
      undefined,
    ]);
  });

  it('wait behind a slow one, in their order', async () => {
    let arrive: (value: Parsed<Buffer>) => void = () => undefined;
    const waits = new Promise<Parsed<Buffer>>((resolve) => {
      arrive = resolve;
    });
    const all = handOver(({ offset }) => (offset === 2 ? waits : undefined));
    await new Promise(setImmediate);
    expect(handed).toEqual([[0, 1]]);
    arrive(parsed(Buffer.from('x')));
    await all;
    expect(handed).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(messages[2]?.decoded).toEqual(parsed(Buffer.from('x')));
  });

  it('are left to the next owner if the partition is revoked meanwhile', async () => {
    await handOver(({ offset }) => {
      messages[offset]?.lose();
      return offset < 3 ? Promise.reject(new Error('revoked')) : undefined;
    });
    expect(messages.map(({ ended }) => ended)).toEqual([
      ...['abandoned', 'abandoned', 'abandoned'],
      undefined,
    ]);
    expect(handed).toEqual([[3]]);
  });

  it('let the event loop turn if decoding takes long, over all partitions', async () => {
    const events: string[] = [];
    const decode = decodeFirst(
      () => {
        const begunMs = realNowMs();
        while (realNowMs() - begunMs < 60);
        events.push('decoded');
        return parsed(Buffer.from('x'));
      },
      () => Promise.resolve(),
    );
    let next: NodeJS.Immediate;
    const turn = (): void => {
      events.push('turn');
      next = setImmediate(turn);
    };
    turn();
    const two = messages.slice(0, 2) as unknown as InboundMessage[];
    await Promise.all([decode(two), decode(two)]);
    clearImmediate(next!);
    expect(events.join(' ')).not.toContain('decoded decoded');
  });

  it('fail alone if their decoding does', async () => {
    await handOver(({ offset }) => (offset === 1 ? Promise.reject(new Error('a bug')) : undefined));
    expect(messages[1]?.ended).toEqual(new Error('a bug'));
    expect(handed).toEqual([[0], [2, 3]]);
  });
});
