import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { ensureTopics } from '../client/ensure-topics.js';
import { createKafka } from '../client/kafka-client.js';
import { type FetchingGroup, withWaitsByPauses } from './waits-by-pauses.js';

const LONGEST_MS = 250;

describe('what a fetch waits for at most', () => {
  let paused: object[];
  let waitsMs: number[];
  let group: FetchingGroup;

  class GroupOfKafkajs implements FetchingGroup {
    maxWaitTime = LONGEST_MS;

    paused(): object[] {
      return paused;
    }

    pause(partitions: object[]): void {
      paused.push(...partitions);
    }

    fetch(): Promise<unknown> {
      waitsMs.push(this.maxWaitTime);
      return Promise.resolve([]);
    }
  }

  beforeEach(() => {
    jest.useFakeTimers();
    [paused, waitsMs] = [[], []];
    group = new (withWaitsByPauses(GroupOfKafkajs))({} as never);
  });
  afterEach(() => jest.useRealTimers());

  const fetchAfter = async (ms: number): Promise<number | undefined> => {
    jest.advanceTimersByTime(ms);
    await group.fetch('0');
    return waitsMs.at(-1);
  };

  it('is what was asked for while nothing is paused', async () => {
    expect(await fetchAfter(0)).toBe(LONGEST_MS);
  });

  it('is as long as the pause has lasted, within limits', async () => {
    group.pause([{}]);
    expect(await fetchAfter(0)).toBe(10);
    expect(await fetchAfter(40)).toBe(40);
    expect(await fetchAfter(60)).toBe(100);
    expect(await fetchAfter(3_600_000)).toBe(LONGEST_MS);
  });

  it('counts from the latest pause', async () => {
    group.pause([{}]);
    await fetchAfter(3_600_000);
    group.pause([{}]);
    expect(await fetchAfter(20)).toBe(20);
  });

  it('is what was asked for again after the pause', async () => {
    group.pause([{}]);
    await fetchAfter(0);
    paused = [];
    expect(await fetchAfter(0)).toBe(LONGEST_MS);
  });
});

const LONG_MS = 3000;

describe('a consumer of which a partition is paused', () => {
  it('looks for what is resumed before the longest wait is over', async () => {
    const topic = `test-${randomUUID().slice(0, 8)}.waits`;
    const kafka = createKafka(loadKafkaSettings(readEnvironment()));
    await ensureTopics(kafka, [{ name: topic, cleanupPolicy: 'delete' as const }], {
      create: true,
      partitions: 1,
    });
    const producer = kafka.producer();
    await producer.connect();
    await producer.send({ topic, messages: [{ value: 'x' }] });
    await producer.disconnect();
    const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: LONG_MS });
    const inPauseMs: number[] = [];
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const paused = new Promise<void>((resolve) => {
      const eachBatch = (): Promise<void> => {
        consumer.pause([{ topic }]);
        resolve();
        return Promise.resolve();
      };
      void consumer.run({ eachBatch });
    });
    await paused;
    consumer.on(consumer.events.FETCH, ({ payload }) => inPauseMs.push(payload.duration));
    while (inPauseMs.length < 2) await delay(20);
    await consumer.disconnect();

    expect(Math.min(...inPauseMs)).toBeLessThan(LONG_MS / 2);
  });
});
