import fc from 'fast-check';
import { type InboundMessage } from './inbound-message.js';
import { PartitionQueue, type QueuedMessage } from './partition-queue.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function messageAt(offset: number): QueuedMessage {
  const source = { topic: 'topic', partition: 0, timestamp: '0' };
  return { ...source, offset, key: null, value: null, headers: {} };
}

function messagesAt(...offsets: number[]): QueuedMessage[] {
  return offsets.map(messageAt);
}

/** A queue whose handlers end when the test says so. */
class Handling {
  readonly started: number[] = [];
  readonly signals: AbortSignal[] = [];
  resumed = 0;
  readonly queue: PartitionQueue;
  private readonly endings = new Map<number, { end: () => void; fail: (error: Error) => void }>();

  constructor(
    options: {
      window?: number;
      pauseAt?: number;
      pauseAtBytes?: number;
      windowBytes?: number;
    } = {},
  ) {
    const {
      window = 100,
      pauseAt = 1000,
      pauseAtBytes = Infinity,
      windowBytes = Infinity,
    } = options;
    const onResume = (): void => {
      this.resumed += 1;
    };
    this.queue = new PartitionQueue((it) => this.handle(it), {
      window,
      pauseAt,
      pauseAtBytes,
      windowBytes,
      onResume,
    });
  }

  /** Ends the handlers of these offsets and lets the queue take notice. */
  async end(...offsets: number[]): Promise<void> {
    for (const offset of offsets) this.endings.get(offset)?.end();
    await nextTurn();
  }

  async fail(offset: number): Promise<void> {
    this.endings.get(offset)?.fail(new Error('aborted'));
    await nextTurn();
  }

  private handle({ offset, signal }: InboundMessage): Promise<void> {
    this.started.push(offset);
    this.signals.push(signal);
    return new Promise((end, fail) => this.endings.set(offset, { end, fail }));
  }
}

describe('PartitionQueue', () => {
  it('handles as many messages at once as its window has room for, in the order of the log', async () => {
    const handling = new Handling({ window: 2 });
    handling.queue.push(messagesAt(1, 2, 3, 4));
    expect(handling.started).toEqual([1, 2]);
    await handling.end(2);
    expect(handling.started).toEqual([1, 2, 3]);
    expect(handling.queue.size).toBe(3);
  });

  it('lets commit what lies before the lowest unfinished message, in whatever order they finish', async () => {
    const offsets = [3, 4, 7, 8, 9, 20];
    const anyOrder = fc.shuffledSubarray(offsets, { minLength: offsets.length });
    await fc.assert(
      fc.asyncProperty(anyOrder, fc.integer({ min: 1, max: 6 }), async (order, window) => {
        const handling = new Handling({ window });
        handling.queue.push(messagesAt(...offsets));
        const unfinished = new Set(offsets);
        while (unfinished.size > 0) {
          const next = order.find((it) => unfinished.has(it) && handling.started.includes(it));
          if (next === undefined) throw new Error('the queue stands still');
          await handling.end(next);
          unfinished.delete(next);
          const committed = handling.queue.committable() ?? 0;
          const again = offsets.filter((offset) => offset >= committed);
          const lowest = offsets.findIndex((offset) => unfinished.has(offset));
          expect(again).toEqual(lowest === -1 ? [] : offsets.slice(lowest));
        }
        expect(handling.queue.size).toBe(0);
      }),
    );
  });

  it('asks for a pause when too many wait, and once for more when few are left', async () => {
    const handling = new Handling({ window: 1, pauseAt: 5 });
    expect(handling.queue.push(messagesAt(0, 1, 2, 3, 4))).toBe(false);
    expect(handling.queue.push(messagesAt(5))).toBe(true);
    expect(handling.queue.push(messagesAt(6))).toBe(true);
    for (const offset of [0, 1, 2, 3]) await handling.end(offset);
    expect(handling.queue.push([])).toBe(true);
    expect(handling.resumed).toBe(0);
    await handling.end(4);
    expect(handling.resumed).toBe(1);
    await handling.end(5);
    await handling.end(6);
    expect(handling.resumed).toBe(1);
    expect(handling.queue.push(messagesAt(7))).toBe(false);
  });

  it('counts bytes as well as messages, whether they wait or are under way', async () => {
    const large = (offset: number): QueuedMessage => ({
      ...messageAt(offset),
      value: Buffer.alloc(100),
    });
    const handling = new Handling({ windowBytes: 150, pauseAtBytes: 200 });
    expect(handling.queue.push([0, 1, 2].map(large))).toBe(false);
    expect(handling.started).toEqual([0, 1]);
    expect(handling.queue.push([3].map(large))).toBe(true);
    await handling.end(0, 1);
    expect(handling.started).toEqual([0, 1, 2, 3]);
    expect(handling.resumed).toBe(1);
  });

  it('starts a large fetch over several turns of the event loop, in order', async () => {
    const offsets = Array.from({ length: 80 }, (_, offset) => offset);
    const handling = new Handling();
    handling.queue.push(messagesAt(...offsets));
    expect(handling.started.length).toBeLessThan(80);
    while (handling.started.length < 80) await nextTurn();
    expect(handling.started).toEqual(offsets);
  });

  it('takes once what Kafka hands out again after a rebalance', async () => {
    const handling = new Handling({ window: 2 });
    handling.queue.push(messagesAt(5, 6, 7));
    await handling.end(5);
    handling.queue.push(messagesAt(6, 7, 8));
    await handling.end(6, 7);
    await handling.end(8);
    expect(handling.started).toEqual([5, 6, 7, 8]);
    expect(handling.queue.committable()).toBe(9);
  });

  it('leaves uncommitted what its handler did not finish', async () => {
    const handling = new Handling();
    handling.queue.push(messagesAt(1, 2, 3));
    await handling.end(1);
    await handling.fail(2);
    await handling.end(3);
    expect(handling.queue.committable()).toBe(2);
  });

  it('on closing aborts those under way, starts nothing more and waits for the last', async () => {
    const handling = new Handling({ window: 2 });
    handling.queue.push(messagesAt(1, 2, 3));
    const log: string[] = [];
    const closed = handling.queue.close(new Error('revoked')).then(() => log.push('closed'));
    expect(handling.signals.map(({ reason }) => (reason as Error).message)).toEqual([
      'revoked',
      'revoked',
    ]);
    await handling.fail(1);
    log.push('the last one ends');
    await handling.end(2);
    await closed;
    handling.queue.push(messagesAt(4));
    expect(log).toEqual(['the last one ends', 'closed']);
    expect(handling.started).toEqual([1, 2]);
  });
});
