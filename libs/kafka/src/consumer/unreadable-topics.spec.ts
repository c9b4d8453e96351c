import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type Fetch, SilentBrokers, UnreadableTopics } from './unreadable-topics.js';

describe('UnreadableTopics', () => {
  const FORBIDDEN = 'forbidden';
  let nowMs = 0;

  it('are left out of fetches except once every five seconds, and named while they are requested', async () => {
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const unreadable = new UnreadableTopics();
    const type = 'TOPIC_AUTHORIZATION_FAILED';
    const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
    /** Returns the topics of each request to the broker, and of its answer. */
    const fetched = async (...names: string[]): Promise<string[][]> => {
      const asked: string[][] = [];
      const { responses } = await unreadable.fetchReadable(
        ({ topics }) => {
          asked.push(topics.map(({ topic }) => topic));
          const isRefused = topics.some(({ topic }) => topic === FORBIDDEN);
          const responses = topics.map(({ topic }) => ({ topicName: topic, partitions: [] }));
          return isRefused ? Promise.reject(refusal) : Promise.resolve({ responses });
        },
        {
          maxWaitTime: 0,
          topics: names.map((topic) => ({ topic, partitions: [{ partition: 0 }] })),
        },
      );
      return [...asked, responses.map(({ topicName }) => topicName)];
    };
    expect(await fetched('a', FORBIDDEN)).toEqual([['a', FORBIDDEN], ['a'], [FORBIDDEN], ['a']]);
    expect(await fetched('a', FORBIDDEN)).toEqual([['a'], ['a']]);
    expect(await fetched(FORBIDDEN)).toEqual([[]]);
    nowMs += 5000;
    expect(await fetched(FORBIDDEN)).toEqual([[FORBIDDEN], []]);
    nowMs += 9000;
    expect(unreadable.readProblem).toContain(`Read or Describe on ${FORBIDDEN}`);
    nowMs += 1000;
    expect(unreadable.readProblem).toBeUndefined();
  });

  it.each(['CORRUPT_MESSAGE', 'KAFKA_STORAGE_ERROR', 'UNKNOWN'])(
    'are single partitions where their broker answers %s for these, and asked for behind all others',
    async (type) => {
      jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
      const unreadable = new UnreadableTopics();
      const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
      let isDamaged = true;
      /** Returns the partitions of each request that the broker has answered. */
      const fetched = async (): Promise<string[]> => {
        const answered: string[] = [];
        const partitions = [{ partition: 0 }, { partition: 1 }];
        await unreadable.fetchReadable(
          ({ topics }) => {
            const names = topics.flatMap(({ topic, partitions: asked }) =>
              asked.map(({ partition }) => `${topic}/${partition}`),
            );
            if (isDamaged && names.includes('a/1')) return Promise.reject(refusal);
            answered.push(names.join());
            const responses = topics.map((of) => ({
              topicName: of.topic,
              partitions: of.partitions.map((each) => ({
                ...{ ...each, highWatermark: '9', lastStableOffset: '9' },
              })),
            }));
            return Promise.resolve({ responses });
          },
          {
            maxWaitTime: 0,
            topics: [
              { topic: 'a', partitions },
              { topic: 'b', partitions },
            ],
          },
        );
        return answered;
      };
      expect(await fetched()).toEqual(['a/0', 'b/0,b/1']);
      expect(await fetched()).toEqual(['a/0,b/0,b/1']);
      nowMs += 5000;
      expect(await fetched()).toEqual(['a/0,b/0,b/1']);
      expect(unreadable.readProblem).toContain('a/1 cannot be read');
      isDamaged = false;
      expect(await fetched()).toEqual(['a/0,b/0,b/1']);
      nowMs += 5000;
      expect(await fetched()).toEqual(['a/0,b/0,b/1', 'a/1']);
      expect(unreadable.readProblem).toBeUndefined();
      expect(await fetched()).toEqual(['a/0,a/1,b/0,b/1']);
    },
  );

  it('remain unreadable while their broker does not answer about them', async () => {
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const unreadable = new UnreadableTopics();
    const type = 'KAFKA_STORAGE_ERROR';
    const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
    const request = { maxWaitTime: 0, topics: [{ topic: 'a', partitions: [{ partition: 1 }] }] };
    await unreadable.fetchReadable(() => Promise.reject(refusal), request);
    let asked = 0;
    const heldBack = (): Promise<{ responses: [] }> => {
      asked += 1;
      return Promise.resolve({ responses: [] });
    };
    nowMs += 5000;
    for (let time = 0; time < 3; time += 1) await unreadable.fetchReadable(heldBack, request);
    expect(asked).toBe(1);
    expect(unreadable.readProblem).toContain('a/1 cannot be read');
  });

  it('are logged once, and again after another process has owned them for a while', async () => {
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const log = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const unreadable = new UnreadableTopics();
    const type = 'CORRUPT_MESSAGE';
    const refusal = Object.assign(new Error('no'), { name: 'KafkaJSProtocolError', type });
    const request = { maxWaitTime: 0, topics: [{ topic: 'a', partitions: [{ partition: 1 }] }] };
    const fetchAfter = async (ms: number): Promise<void> => {
      nowMs += ms;
      await unreadable.fetchReadable(() => Promise.reject(refusal), request);
    };
    await fetchAfter(0);
    await fetchAfter(5000);
    await fetchAfter(5000);
    expect(log).toHaveBeenCalledTimes(1);
    expect(log).toHaveBeenCalledWith(
      expect.objectContaining({ msg: 'topic not read', topic: 'a', partition: 1 }),
    );
    await fetchAfter(10_000);
    expect(log).toHaveBeenCalledTimes(2);
  });
});

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
