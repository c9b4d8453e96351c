import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { ensureTopics } from '../client/ensure-topics.js';
import { createKafka } from '../client/kafka-client.js';
import { type Kafka } from '../kafkajs.js';
import { Outbox } from './outbox.js';
import { type Receipt } from './receipt.js';

const TOPIC = `test-${randomUUID().slice(0, 8)}.outbox`;
const LINGER_MS = 10;
const HALF_MIB = 512 * 1024;
const LAST_RESORT_MS = 40_000;

async function eventually(isSo: () => boolean): Promise<void> {
  const giveUpMs = realNowMs() + LAST_RESORT_MS;
  while (!isSo()) {
    if (realNowMs() > giveUpMs) throw new Error('what the test waits for did not come about');
    await realDelayMs(1);
  }
}

describe('Outbox', () => {
  let kafka: Kafka;
  /** The keys of each request on its way to Kafka. */
  let requests: unknown[][];
  /** Lets the oldest request go, until Kafka has answered it. */
  let answers: (() => Promise<unknown>)[];
  /** What waits for company. */
  let waits: (() => void)[];
  let log: string[];
  let outbox: Outbox;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    kafka = createKafka(loadKafkaSettings(readEnvironment()));
    const topics = [{ name: TOPIC, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    holdRequests();
  });

  beforeEach(() => {
    [requests, answers, log, waits] = [[], [], [], []];
    outbox = new Outbox(kafka, LINGER_MS, (ms) => {
      expect(ms).toBe(LINGER_MS);
      return new Promise((resolve) => waits.push(resolve));
    });
  });

  afterEach(() => outbox.close());

  afterAll(() => {
    jest.restoreAllMocks();
  });

  /** They go on to the broker one by one, when the test says so. */
  function holdRequests(): void {
    const makeProducer = kafka.producer.bind(kafka);
    jest.spyOn(kafka, 'producer').mockImplementation((config) => {
      const producer = makeProducer(config);
      const sendBatch = producer.sendBatch.bind(producer);
      producer.sendBatch = (batch) => {
        const messages = batch.topicMessages?.flatMap((topic) => topic.messages) ?? [];
        requests.push(messages.map(({ key }) => key));
        return new Promise((resolve, reject) => {
          answers.push(() => {
            const sent = sendBatch(batch);
            sent.then(resolve, reject);
            return sent;
          });
        });
      };
      return producer;
    });
  }

  const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  /** The time to wait for company is over. */
  const lingered = async (): Promise<void> => {
    const before = requests.length;
    waits.shift()?.();
    await eventually(() => requests.length > before);
  };

  const acknowledge = async (): Promise<void> => {
    await answers.shift()?.();
    await nextTurn();
  };

  const receiptOf = (key: string): Receipt => ({
    acknowledged: () => log.push(key),
    refused: (error) => log.push(`${key}: ${(error as Error).message}`),
  });

  const post = (key: string, receipt = receiptOf(key), value: Buffer | null = null): void => {
    outbox.post({ topic: TOPIC, key, value, headers: {} }, receipt);
  };

  it('sends together what comes together, and tells of each in its order', async () => {
    for (const key of ['a', 'b', 'c']) post(key);
    await lingered();
    expect(requests).toEqual([['a', 'b', 'c']]);
    expect(log).toEqual([]);
    await acknowledge();
    expect(log).toEqual(['a', 'b', 'c']);
  });

  it('waits for company before each request', async () => {
    post('a');
    await lingered();
    post('b');
    await acknowledge();
    post('c');
    expect(requests).toEqual([['a']]);
    await lingered();
    expect(requests).toEqual([['a'], ['b', 'c']]);
  });

  it('lets a request wait no longer once it is full', async () => {
    post('a');
    await lingered();
    post('b', receiptOf('b'), Buffer.alloc(HALF_MIB));
    await acknowledge();
    expect(waits).toEqual([]);
    expect(requests).toEqual([['a'], ['b']]);
  });

  it('tells the others of an answer that one of them cannot take in', async () => {
    post('a');
    post('b', {
      acknowledged: () => {
        throw new Error('a bug');
      },
      refused: () => undefined,
    });
    post('c');
    await lingered();
    await acknowledge();
    expect(log).toEqual(['a', 'c']);
    post('d');
    await lingered();
    expect(requests.at(-1)).toEqual(['d']);
  });

  it.each([TypeError, RangeError])(
    'sends a record again after a %p of the client, with its value',
    async (Passing) => {
      post('a', receiptOf('a'), Buffer.from('value'));
      jest.spyOn(kafka, 'producer').mockImplementationOnce((config) => {
        const producer = kafka.producer(config);
        producer.sendBatch = (batch) => {
          requests.push(batch.topicMessages?.flatMap((topic) => topic.messages) ?? []);
          return Promise.reject(new Passing('of undefined'));
        };
        return producer;
      });
      await eventually(() => {
        waits.shift()?.();
        return requests.length === 2;
      });
      expect(requests).toMatchObject([[{ value: Buffer.from('value') }], ['a']]);
      expect(log).toEqual([]);
      await acknowledge();
      expect(log).toEqual(['a']);
    },
  );

  it('refuses what waits when it is closed, and what comes after', async () => {
    post('a');
    const closed = outbox.close();
    post('b');
    waits.shift()?.();
    await closed;
    expect(log).toEqual(['a: the outbox is closed', 'b: the outbox is closed']);
    expect(requests).toEqual([]);
  });
});
