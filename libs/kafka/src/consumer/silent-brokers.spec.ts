import { jest } from '@jest/globals';
import { type Fetch, SilentBrokers } from './silent-brokers.js';

describe('a broker whose answer to a fetch is late', () => {
  const asking = (topic: string) => ({
    maxWaitTime: 250,
    topics: [{ topic, partitions: [{ partition: 0 }] }],
  });
  let answers: ((topic: string) => void)[];
  let fetch: Fetch;
  let silent: SilentBrokers;

  beforeEach(() => {
    jest.useFakeTimers();
    answers = [];
    silent = new SilentBrokers();
    fetch = silent.answeredInTime({
      brokerAddress: 'kafka-2:9092',
      fetch: () =>
        new Promise((resolve) => {
          answers.push((topic) => resolve({ responses: [{ topicName: topic, partitions: [] }] }));
        }),
    });
  });

  afterEach(() => jest.useRealTimers());

  it('answers the next fetch of the same topics with the late answer', async () => {
    const first = fetch(asking('a'));
    await jest.advanceTimersByTimeAsync(2000);
    expect(await first).toEqual({ responses: [] });
    const second = fetch(asking('a'));
    answers[0]?.('a');
    expect(await second).toEqual({ responses: [{ topicName: 'a', partitions: [] }] });
    expect(answers).toHaveLength(1);
  });

  it('drops the late answer if the next fetch is of other topics', async () => {
    void fetch(asking('a'));
    await jest.advanceTimersByTimeAsync(2000);
    const second = fetch(asking('b'));
    answers[0]?.('a');
    answers[1]?.('b');
    expect(await second).toEqual({ responses: [{ topicName: 'b', partitions: [] }] });
  });

  it('is named after fifteen seconds, until it answers or is no longer asked', async () => {
    const ask = async (): Promise<void> => {
      const asked = fetch(asking('a'));
      await jest.advanceTimersByTimeAsync(2000);
      await asked;
    };
    const untilNamed = async (): Promise<void> => {
      for (let seconds = 0; seconds < 16; seconds += 2) await ask();
      expect(silent.problems).toEqual([]);
      await ask();
      expect(silent.problems).toEqual([expect.stringContaining('broker kafka-2:9092')]);
    };
    await untilNamed();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(silent.problems).toEqual([]);
    await untilNamed();
    answers[0]?.('a');
    await ask();
    expect(silent.problems).toEqual([]);
  });
});
