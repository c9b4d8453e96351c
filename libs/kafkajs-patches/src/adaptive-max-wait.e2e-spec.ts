import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { jest } from '@jest/globals';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { ensureTopics } from '#libs/kafka';
import { createKafka } from '#libs/kafka';
import { type FetchingGroup, withAdaptiveMaxWait } from './consumer.js';

const LONGEST_MS = 250;

describe('the longest wait of a fetch', () => {
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
    group = new (withAdaptiveMaxWait(GroupOfKafkajs))({} as never);
  });
  afterEach(() => jest.useRealTimers());

  const fetchAfter = async (ms: number): Promise<number | undefined> => {
    jest.advanceTimersByTime(ms);
    await group.fetch('0');
    return waitsMs.at(-1);
  };

  it('is as long as the latest pause, within limits, and otherwise the configured one', async () => {
    expect(await fetchAfter(0)).toBe(LONGEST_MS);
    group.pause([{}]);
    expect(await fetchAfter(0)).toBe(10);
    expect(await fetchAfter(40)).toBe(40);
    expect(await fetchAfter(60)).toBe(100);
    expect(await fetchAfter(3_600_000)).toBe(LONGEST_MS);
    group.pause([{}]);
    expect(await fetchAfter(20)).toBe(20);
    paused = [];
    expect(await fetchAfter(0)).toBe(LONGEST_MS);
  });
});

const LONG_MS = 10_000;

describe('a consumer with a resumed partition', () => {
  const topic = `test-${randomUUID().slice(0, 8)}.waits`;
  const kafka = createKafka(loadKafkaSettings(readEnvironment()));
  const producer = kafka.producer();
  const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: LONG_MS });
  afterEach(() => Promise.all([producer.disconnect(), consumer.disconnect()]));

  const send = (value: string) => producer.send({ topic, messages: [{ value, partition: 0 }] });

  it('receives its records long before a fetch of idle partitions would end', async () => {
    const spec = { name: topic, cleanupPolicy: 'delete' as const };
    await ensureTopics(kafka, [spec], { create: true, partitions: 2 });
    await producer.connect();
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await send('first');
    const taken = new EventEmitter();
    const [first, second] = [once(taken, 'first'), once(taken, 'second')];
    await consumer.run({
      eachMessage: ({ message }) => {
        if (String(message.value) === 'first') consumer.pause([{ topic, partitions: [0] }]);
        taken.emit(String(message.value));
        return Promise.resolve();
      },
    });
    await first;
    await new Promise<void>((resolve) => consumer.on(consumer.events.FETCH_START, () => resolve()));
    // by the time that is written, the fetch has been asked for without the partition
    await send('second');
    const resumedMs = performance.now();
    consumer.resume([{ topic, partitions: [0] }]);
    await second;

    expect(performance.now() - resumedMs).toBeLessThan(LONG_MS / 2);
  });
});
