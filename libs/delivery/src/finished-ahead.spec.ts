import fc from 'fast-check';
import { FinishedAhead } from './finished-ahead.js';

/** Offsets that have been started, ascending, and which of them have not finished. */
const started = fc
  .uniqueArray(fc.nat(1_000_000), { minLength: 1, maxLength: 3000 })
  .map((offsets) => offsets.sort((a, b) => a - b))
  .chain((offsets) =>
    fc.record({
      offsets: fc.constant(offsets),
      unfinished: fc.subarray(offsets, { minLength: 1 }),
    }),
  );

describe('FinishedAhead', () => {
  it('never takes for finished what is not, whatever is finished and however little there is room for', () => {
    fc.assert(
      fc.property(started, ({ offsets, unfinished }) => {
        const [lowest] = unfinished;
        const metadata = FinishedAhead.compose(unfinished, offsets.at(-1)!).metadata;
        const ahead = FinishedAhead.read(lowest!, metadata);
        expect(Buffer.byteLength(metadata)).toBeLessThan(4096);
        for (const offset of unfinished) expect(ahead?.includes(offset) ?? false).toBe(false);
        expect(ahead?.includes(offsets.at(-1)! + 1) ?? false).toBe(false);
        expect(ahead?.includes(lowest! - 1) ?? false).toBe(false);
      }),
    );
  });

  it('knows all that is finished where there is room for it', () => {
    const small = started.filter(({ unfinished }) => unfinished.length < 200);
    fc.assert(
      fc.property(small, ({ offsets, unfinished }) => {
        const [lowest] = unfinished;
        const ahead = FinishedAhead.read(
          lowest!,
          FinishedAhead.compose(unfinished, offsets.at(-1)!).metadata,
        );
        const open = new Set(unfinished);
        for (const offset of offsets) {
          if (offset > lowest! && !open.has(offset)) expect(ahead?.includes(offset)).toBe(true);
        }
      }),
    );
  });

  it('says nothing where nothing beyond is finished', () => {
    expect(FinishedAhead.compose([], 7).metadata).toBe('');
    expect(FinishedAhead.compose([5, 6, 7], 7).metadata).toBe('');
    expect(FinishedAhead.compose([7], 7).metadata).toBe('');
  });

  it.each([null, '', 'ahead/1', 'ahead/2 a b', 'ahead/1 zz 1..2', 'anything else'])(
    'takes %j for none of its own',
    (metadata) => {
      expect(FinishedAhead.read(5, metadata)).toBeUndefined();
    },
  );
});
