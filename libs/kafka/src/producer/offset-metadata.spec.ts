import fc from 'fast-check';
import {
  addItem,
  composeItems,
  type DoneItems,
  FinishedAhead,
  formatOffsetMetadata,
  parseOffsetMetadata,
} from './offset-metadata.js';

const AHEAD = FinishedAhead.compose([7, 9], 10).metadata;

function finishedOf({ finished }: ReturnType<typeof parseOffsetMetadata>): number[] {
  return [7, 8, 9, 10, 11].filter((offset) => finished?.includes(offset) === true);
}

describe('the metadata of a commit', () => {
  it('carries the messages finished ahead, done items, deferrals and the transaction', () => {
    const items: DoneItems = new Map([[7, new Set([2])]]);
    const place = { items: composeItems(items), ahead: AHEAD, deferredUpTo: 41 };
    const read = parseOffsetMetadata(7, formatOffsetMetadata('w.3', place));
    expect(finishedOf(read)).toEqual([8, 10]);
    expect(read.items).toEqual(items);
    expect([read.transaction, read.deferredUpTo]).toEqual(['w.3', 41]);
  });

  it('may state nothing but its transaction', () => {
    const read = parseOffsetMetadata(7, formatOffsetMetadata('w.3', { ahead: '', items: '' }));
    expect([finishedOf(read), read.items.size, read.transaction]).toEqual([[], 0, 'w.3']);
  });

  it('is read in the form of earlier versions', () => {
    expect(finishedOf(parseOffsetMetadata(7, `told/1 rest ${AHEAD}`))).toEqual([8, 10]);
    expect(finishedOf(parseOffsetMetadata(7, 'tx/1 w.3 - ahead/1 a 2'))).toEqual([8, 10]);
    expect(finishedOf(parseOffsetMetadata(7, 'tx/1 w.3 - ahead/1 a '))).toEqual([8, 9, 10]);
  });

  it.each([null, '', 'set by hand', 'tx/1', 'tx/2 w.3 -'])(
    'says nothing when it is %j',
    (metadata) => {
      const { finished, items, transaction } = parseOffsetMetadata(7, metadata);
      expect([finished, items.size, transaction]).toEqual([undefined, 0, undefined]);
    },
  );
});

/** Started offsets, ascending, and the unfinished ones among them. */
const started = fc
  .uniqueArray(fc.nat(1_000_000), { minLength: 1, maxLength: 3000 })
  .map((offsets) => offsets.sort((a, b) => a - b))
  .chain((offsets) =>
    fc.record({
      offsets: fc.constant(offsets),
      unfinished: fc.subarray(offsets, { minLength: 1 }),
    }),
  );

/** Room for gaps, in characters. */
const room = fc.integer({ min: 30, max: 90 });

describe('FinishedAhead', () => {
  it('never counts an unfinished offset as finished, however little room there is', () => {
    fc.assert(
      fc.property(started, ({ offsets, unfinished }) => {
        const [lowest] = unfinished;
        const metadata = FinishedAhead.compose(unfinished, offsets.at(-1)!).metadata;
        const ahead = FinishedAhead.parse(lowest!, metadata);
        expect(Buffer.byteLength(metadata)).toBeLessThan(4096);
        const others = [...unfinished, lowest! - 1, offsets.at(-1)! + 1];
        expect(others.filter((offset) => ahead?.includes(offset))).toEqual([]);
      }),
    );
  });

  it('covers all finished offsets that it has room for', () => {
    fc.assert(
      fc.property(started, room, ({ offsets, unfinished }, maxLength) => {
        const [lowest] = unfinished;
        const composed = FinishedAhead.compose(unfinished, offsets.at(-1)!, maxLength);
        const ahead = FinishedAhead.parse(lowest!, composed.metadata);
        const open = new Set(unfinished);
        const known = offsets.filter((it) => it > lowest! && it <= composed.upTo && !open.has(it));
        expect(known.filter((offset) => ahead?.includes(offset) !== true)).toEqual([]);
      }),
    );
  });

  it('has room for thousands of offsets that wait for one machine of many', () => {
    for (const [machines, waiting] of [
      [2, 5000],
      [16, 2500],
      [200, 1300],
    ] as const) {
      // the machines' messages are in any order
      const unfinished = Array.from({ length: waiting }, (_, index) => {
        return index * machines + ((index * 7919) % machines);
      });
      const highest = waiting * machines;
      expect(FinishedAhead.compose(unfinished, highest).upTo).toBe(highest);
    }
  });

  it('keeps finished offsets finished as others finish or are started', () => {
    const more = fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 60 });
    const stays = fc.infiniteStream(fc.boolean());
    fc.assert(
      fc.property(started, more, stays, room, ({ offsets, unfinished }, gaps, stay, maxLength) => {
        const highest = offsets.at(-1)!;
        const { upTo } = FinishedAhead.compose(unfinished, highest, maxLength);
        const left = unfinished.filter(() => stay.next().value);
        let last = highest;
        for (const gap of gaps) left.push((last += gap));
        expect(FinishedAhead.compose(left, last, maxLength).upTo).toBeGreaterThanOrEqual(upTo);
      }),
    );
  });

  it('is empty if nothing above is finished', () => {
    expect(FinishedAhead.compose([], 7).metadata).toBe('');
    expect(FinishedAhead.compose([5, 6, 7], 7).metadata).toBe('');
    expect(FinishedAhead.compose([7], 7).metadata).toBe('');
  });

  it.each([
    null,
    '',
    'ahead/1',
    'ahead/2 a b.c',
    'ahead/1 zz 1..2',
    'ahead/3 a 0',
    'anything else',
  ])('takes %j for none of its own', (metadata) => {
    expect(FinishedAhead.parse(5, metadata)).toBeUndefined();
  });
});

describe('done items', () => {
  const readBack = (items: string): DoneItems =>
    parseOffsetMetadata(7, formatOffsetMetadata('w.3', { ahead: '', items })).items;

  it('are read as they are composed', () => {
    const place = fc.tuple(fc.nat(2 ** 40), fc.nat(200));
    fc.assert(
      fc.property(fc.array(place, { maxLength: 8 }), (places) => {
        const items: DoneItems = new Map();
        for (const [offset, index] of places) addItem(items, offset, index);
        expect(readBack(composeItems(items) ?? '')).toEqual(items);
      }),
    );
  });

  it('are left out if a commit has no room for them', () => {
    expect(composeItems(new Map([[7, new Set([7000])]]))).toBeUndefined();
  });

  it.each(['', 'set by hand', '7', '7:', ':AA'])('are none in %j', (text) => {
    expect(readBack(text).size).toBe(0);
  });
});
