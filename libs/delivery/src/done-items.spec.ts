import fc from 'fast-check';
import { DoneItems } from './done-items.js';

describe('DoneItems', () => {
  it('reads what it has composed', () => {
    const place = fc.tuple(fc.nat(2 ** 40), fc.nat(200));
    fc.assert(
      fc.property(fc.array(place, { maxLength: 8 }), (places) => {
        const items = new DoneItems();
        for (const [offset, index] of places) items.add(offset, index);
        const read = DoneItems.read(items.compose() ?? '');
        for (const [offset, index] of places) {
          expect(read.has(offset, index)).toBe(true);
          expect(read.has(offset, index + 1)).toBe(items.has(offset, index + 1));
        }
      }),
    );
  });

  it('forgets a message that is done, and says nothing of none', () => {
    const items = new DoneItems();
    items.add(7, 3);
    items.delete(7);
    expect([items.isEmpty, items.compose()]).toEqual([true, '']);
  });

  it('says nothing where a commit has no room for it', () => {
    const items = new DoneItems();
    items.add(7, 7000);
    expect(items.compose()).toBeUndefined();
  });

  it.each(['', 'set by hand', '7', '7:', ':AA'])('reads nothing from %j', (text) => {
    expect(DoneItems.read(text).isEmpty).toBe(true);
  });
});
