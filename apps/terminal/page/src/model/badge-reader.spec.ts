import { BadgeReader } from './badge-reader.js';

function type(text: string, gapMs: number): { badge: string | null; swallowed: number } {
  const reader = new BadgeReader();
  let [atMs, badge, swallowed] = [1000, null as string | null, 0];
  for (const key of [...Array.from(text), 'Enter']) {
    const outcome = reader.readKey(key, (atMs += gapMs));
    badge ??= outcome.badge;
    if (outcome.partOfBurst) swallowed++;
  }
  return { badge, swallowed };
}

describe('a badge scanner', () => {
  it('is recognised by its speed', () => {
    expect(type('E-004711', 12).badge).toBe('E-004711');
  });

  it('is not a person who types fast', () => {
    expect(type('grinder', 60)).toEqual({ badge: null, swallowed: 0 });
  });

  it('is not two keys pressed at once', () => {
    expect(type('jk', 5)).toEqual({ badge: null, swallowed: 0 });
  });

  it('presses nothing with the Enter at its end', () => {
    // the first three characters come before they are recognised
    expect(type('4711', 5).swallowed).toBe(2);
  });

  it('may hold Shift between its characters', () => {
    const reader = new BadgeReader();
    const keys = ['A', 'Shift', 'B', '1', '2', 'Enter'];
    expect(keys.map((key, index) => reader.readKey(key, index * 10).badge).at(-1)).toBe('AB12');
  });

  it('starts over after a pause', () => {
    const reader = new BadgeReader();
    reader.readKey('x', 0);
    const keys = ['4', '7', '1', '1', 'Enter'];
    const badges = keys.map((key, index) => reader.readKey(key, 500 + index * 10).badge);
    expect(badges.at(-1)).toBe('4711');
  });
});
