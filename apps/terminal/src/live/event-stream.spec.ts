import { constants, gunzipSync } from 'node:zlib';
import { EventStream, StreamChunk, type StreamClient } from './event-stream.js';

/** A page that receives at once, or slowly. */
class Page implements StreamClient {
  readonly bytes: Buffer[] = [];
  isSlow = false;
  isDestroyed = false;
  firstBytes = 0;
  readonly output = ((page: Page) => ({
    write: (bytes: Buffer) => page.bytes.push(bytes),
    get writableLength() {
      return page.isSlow ? Buffer.concat(page.bytes).length : 0;
    },
    destroy: () => (page.isDestroyed = true),
  }))(this) as unknown as StreamClient['output'];
  readonly identity = () => ({ station: 'Line 1', operator: null });

  constructor(
    readonly factoryId: string | null = null,
    readonly isCompressed = false,
  ) {}

  get text(): string {
    const bytes = Buffer.concat(this.bytes);
    if (!this.isCompressed) return bytes.toString();
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  }

  get received(): unknown[] {
    return [...this.text.matchAll(/^data: (.*)$/gm)].map(
      ([, data]) => JSON.parse(data ?? '') as unknown,
    );
  }

  get lastId(): string | undefined {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
  }
}

const limits = { keptEvents: 3, keptBytes: 10_000, backlogBytes: 200 };

describe('the stream of events', () => {
  const connected = (stream: EventStream, page: Page): Page => {
    stream.addClient(page, [], stream.latestSequence);
    return page;
  };

  it('sends each page the events of its factory, compressed or not', () => {
    const stream = new EventStream();
    const [all, one, small] = [new Page(), new Page('F-1'), new Page('F-2', true)];
    for (const page of [all, one, small]) connected(stream, page);
    stream.publishEvent('tiles', 'F-1', 1);
    stream.publishEvent('tiles', 'F-2', 2);
    stream.publishEvent('link', null, 3);
    expect([all.received, one.received, small.received]).toEqual([
      [1, 2, 3],
      [1, 3],
      [2, 3],
    ]);
  });

  it('sends a page that reconnects the events it has missed, while they are kept', () => {
    const stream = new EventStream(limits);
    const page = connected(stream, new Page());
    stream.publishEvent('tiles', null, 1);
    const seen = page.lastId;
    for (const data of [2, 3, 4]) stream.publishEvent('tiles', null, data);
    const back = new Page();
    stream.addClient(back, [], stream.sequenceOf(seen)!);
    expect(back.received).toEqual([2, 3, 4]);
    stream.publishEvent('tiles', null, 5);
    expect(stream.sequenceOf(seen)).toBeUndefined();
    expect(stream.sequenceOf('other-1')).toBeUndefined();
    expect(stream.sequenceOf(`${seen!.split('-')[0]}-99`)).toBeUndefined();
    expect(stream.sequenceOf(undefined)).toBeUndefined();
    expect(stream.sequenceOf(page.lastId)).toBeDefined();
    stream.dropKeptEvents();
    expect(stream.sequenceOf(page.lastId)).toBeUndefined();
  });

  it('disconnects a slow page, and no other', () => {
    const stream = new EventStream(limits);
    const [slow, other] = [new Page(), new Page()];
    const first = new StreamChunk(`id: x\ndata: ${JSON.stringify('x'.repeat(1000))}\n\n`);
    slow.isSlow = true;
    stream.addClient(slow, [first], 0);
    connected(stream, other);
    for (let count = 0; count < 9; count += 1) stream.publishEvent('tiles', null, 'y'.repeat(60));
    expect([slow.isDestroyed, other.isDestroyed, stream.size]).toEqual([true, false, 1]);
    expect(stream.droppedCount).toBe(1);
    expect(Buffer.concat(slow.bytes).length).toBeLessThan(1000 + 600);
  });
});
