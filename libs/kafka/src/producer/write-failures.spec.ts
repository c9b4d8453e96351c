import { jest } from '@jest/globals';
import { ConsecutiveFailures, TopicHealth } from './write-failures.js';

describe('a run of failures', () => {
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

describe('TopicHealth', () => {
  const writer = {};
  const another = {};
  let health: TopicHealth;

  beforeEach(() => {
    jest.useFakeTimers({ now: 1_763_680_000_000 });
    health = new TopicHealth();
  });

  afterEach(() => jest.useRealTimers());

  const failed = (topics: string[], why = 'gone'): number => {
    const all = new Set(topics);
    return health.writeFailed(writer, all, health.suspects(writer, all), () => why);
  };

  const problems = (): unknown[] =>
    health
      .writtenTopics()
      .flatMap(({ topic, problem }) => (problem === undefined ? [] : [[topic, problem]]));

  it('suspects topics without a recent write, or all if every one has been written to', () => {
    const suspects = (...topics: string[]) => health.suspects(writer, new Set(topics));
    expect(suspects('a', 'b')).toEqual(['a', 'b']);
    health.writeSucceeded(another, ['b']);
    expect(suspects('a', 'b')).toEqual(['a']);
    // one of its partitions may be gone
    expect(suspects('b')).toEqual(['b']);
    jest.advanceTimersByTime(20_000);
    expect(suspects('a', 'b')).toEqual(['a', 'b']);
  });

  it('reports a topic that has failed for a while, until it is written', () => {
    expect(failed(['a'])).toBe(1);
    expect(problems()).toEqual([]);
    jest.advanceTimersByTime(6000);
    expect(failed(['a'], 'still gone')).toBe(2);
    expect(problems()).toEqual([['a', 'still gone']]);
    health.writeSucceeded(another, ['a']);
    expect(problems()).toEqual([['a', 'still gone']]);
    health.writeSucceeded(writer, ['a']);
    expect([problems(), health.writtenTopics()]).toEqual([
      [],
      [{ topic: 'a', problem: undefined }],
    ]);
  });

  it('clears the suspicion of a topic once it is written', () => {
    failed(['a', 'b']);
    jest.advanceTimersByTime(6000);
    health.writeSucceeded(another, ['b']);
    failed(['a', 'b']);
    expect(problems()).toEqual([['a', 'gone']]);
    jest.advanceTimersByTime(60_000);
    failed(['a', 'b']);
    expect(problems()).toEqual([['a', 'gone']]);
  });

  it('goes on reporting a topic while others fail alone', () => {
    failed(['a', 'b']);
    jest.advanceTimersByTime(6000);
    failed(['a', 'b']);
    failed(['b']);
    expect(problems()).toEqual([
      ['a', 'gone'],
      ['b', 'gone'],
    ]);
  });

  it('forgets writers that have ended', () => {
    failed(['a']);
    jest.advanceTimersByTime(6000);
    health.forgetWriter(writer);
    expect(problems()).toEqual([]);
  });
});
