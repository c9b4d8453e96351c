import { CallSpread } from './call-spread.js';

const NOW_MS = 5000;

describe('CallSpread', () => {
  let spread: CallSpread;

  beforeEach(() => {
    spread = new CallSpread();
  });

  it.each([
    [0, 1],
    [1, 1],
    [8, 1],
    [9, 2],
    [17, 3],
    [25, 4],
    [99, 4],
  ])('lets %i machines share %i calls while commands keep coming', (machines, calls) => {
    spread.begun(NOW_MS - 999, false);
    expect(spread.callsFor(machines, NOW_MS)).toBe(calls);
  });

  it('lets all share a call that come after a while without any', () => {
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    spread.begun(NOW_MS - 1000, false);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
  });

  it('lets all share a call as long as calls fill up', () => {
    spread.begun(NOW_MS - 999, true);
    spread.begun(NOW_MS - 20, false);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    expect(spread.callsFor(99, NOW_MS + 1)).toBe(4);
  });
});
