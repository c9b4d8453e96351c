import { CallSpread } from './call-spread.js';

const NOW_MS = 5000;

describe('CallSpread', () => {
  let spread: CallSpread;

  beforeEach(() => {
    spread = new CallSpread();
  });

  const calls = (count: number, atMs: number): void => {
    for (let call = 1; call <= count; call += 1) spread.begun(atMs, false);
  };

  it.each([
    [0, 1],
    [1, 1],
    [8, 1],
    [9, 2],
    [17, 3],
    [25, 4],
    [99, 4],
  ])('lets %i machines share %i calls while commands keep coming', (machines, shared) => {
    calls(10, NOW_MS - 999);
    expect(spread.callsFor(machines, NOW_MS)).toBe(shared);
  });

  it('lets all share a call that come on their own', () => {
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    calls(1, NOW_MS - 1000);
    calls(9, NOW_MS - 1);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    calls(1, NOW_MS - 1);
    expect(spread.callsFor(99, NOW_MS)).toBe(4);
  });

  it('lets all share a call as long as calls fill up', () => {
    spread.begun(NOW_MS - 999, true);
    calls(10, NOW_MS - 20);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    expect(spread.callsFor(99, NOW_MS + 1)).toBe(4);
  });
});
