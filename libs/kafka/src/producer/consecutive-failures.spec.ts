import { ConsecutiveFailures } from './consecutive-failures.js';

describe('a run of failures', () => {
  it('counts failures until a success', () => {
    const run = new ConsecutiveFailures();
    expect([1, 2, 3].map((second) => run.recordFailure(second * 1000, 'away'))).toEqual([1, 2, 3]);
    run.recordSuccess();
    expect(run.recordFailure(4000, 'away')).toBe(1);
  });

  it('is a problem once it has lasted for five seconds, with the latest reason', () => {
    const run = new ConsecutiveFailures(60_000);
    run.recordFailure(1000, 'away');
    // one failure alone may be over, however long ago it was
    expect(run.lastingProblem(60_000)).toBeUndefined();
    run.recordFailure(5999, 'forbidden');
    expect(run.lastingProblem(6000)).toBeUndefined();
    run.recordFailure(6000, 'too large');
    expect(run.lastingProblem(6000)).toBe('too large');
    run.recordSuccess();
    expect(run.lastingProblem(6000)).toBeUndefined();
  });

  it('is a problem after that time even without a new failure, if only a retry can end it', () => {
    const run = new ConsecutiveFailures();
    run.recordFailure(1000, 'away');
    expect(run.lastingProblem(5999)).toBeUndefined();
    expect(run.lastingProblem(6000)).toBe('away');
    run.recordSuccess();
    expect(run.lastingProblem(6000)).toBeUndefined();
  });

  it('goes on after a success with fewer topics', () => {
    const run = new ConsecutiveFailures();
    run.recordFailure(1000, 'forbidden', ['memory', 'events']);
    run.recordSuccess(new Set(['memory']));
    expect(run.recordFailure(2000, 'forbidden', ['memory', 'events'])).toBe(2);
    run.recordSuccess(new Set(['memory', 'states', 'events']));
    expect(run.recordFailure(3000, 'forbidden', ['memory', 'events'])).toBe(1);
  });

  it('is over when nothing has failed for long', () => {
    const run = new ConsecutiveFailures(60_000);
    run.recordFailure(1000, 'forbidden');
    run.recordFailure(9000, 'forbidden');
    expect(run.lastingProblem(69_000)).toBe('forbidden');
    expect(run.lastingProblem(69_001)).toBeUndefined();
    expect(run.recordFailure(69_001, 'forbidden')).toBe(1);
  });
});
