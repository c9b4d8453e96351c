import { jest } from '@jest/globals';
import { TopicHealth } from './topic-health.js';

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
    return health.writeFailed(writer, all, health.suspects(writer, all), why);
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
