import { CallPace } from './service-caller.js';

describe('CallPace', () => {
  let pace: CallPace;

  beforeEach(() => {
    pace = new CallPace();
  });

  /** How slow calls of that duration are found to be, one after the other; 1 where they are usual. */
  const slownessOf = (durationMs: number, calls: number): number[] =>
    Array.from({ length: calls }, () => {
      const found = pace.qualityOf(durationMs, 'ok');
      return found === 'ok' ? 1 : found.slowness;
    });

  it('calls slow what takes several times as long as the others, and says how many times', () => {
    for (let call = 0; call < 20; call += 1) expect(pace.qualityOf(100, 'ok')).toBe('ok');
    expect(pace.qualityOf(3000, 'ok')).toEqual({ slowness: 30 });
    expect(pace.qualityOf(390, 'ok')).toBe('ok');
    expect(pace.qualityOf(100, 'ok')).toBe('ok');
  });

  it('calls nothing slow that is quick in itself', () => {
    pace.qualityOf(1, 'ok');
    expect(pace.qualityOf(240, 'ok')).toBe('ok');
  });

  it('comes to terms with a service that has become slow as a whole', () => {
    pace.qualityOf(20, 'ok');
    const found = slownessOf(1000, 60);
    expect(found[0]).toBe(50);
    // each is found less slow than the one before, so that its machines part less
    expect(found).toEqual([...found].sort((a, b) => b - a));
    expect(found[3]).toBeLessThan(15);
    expect(found.at(-1)).toBe(1);
  });

  it('calls a failure slow that was long in coming, and takes none that came at once for the pace', () => {
    pace.qualityOf(100, 'ok');
    expect(pace.qualityOf(10_000, 'suspect')).toEqual({ slowness: 100 });
    pace = new CallPace();
    pace.qualityOf(100, 'ok');
    for (let call = 0; call < 60; call += 1) expect(pace.qualityOf(2, 'suspect')).toBe('suspect');
    expect(pace.qualityOf(300, 'ok')).toBe('ok');
  });
});
