import { jest } from '@jest/globals';
import fc from 'fast-check';
import type { KafkaMessage } from '#libs/kafkajs-patches';
import type { OutboundRecord } from '../producer/outbound-record.js';
import { partitionOf } from '../producer/outbound-record.js';
import { Repartition, Restore, TopicGrownError } from './restore.js';

const never = new AbortController().signal;

function record(key: string | null, value: string | null): KafkaMessage {
  return {
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    timestamp: '0',
    attributes: 0,
    offset: '0',
    headers: {},
  };
}

/** The mark of a restore as the log gives it back. */
function markOf({ mark }: Restore): KafkaMessage {
  return record(String(mark.key), String(mark.value));
}

describe('Restore', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('yields the last value of each key before its own mark, over as many batches as it takes', async () => {
    const restore = new Restore('topic', 0);
    const earlier = markOf(new Restore('topic', 0));
    const first = [record('M-1', '{"n":1}'), record('M-2', '2'), earlier, record('M-3', 'null')];
    const second = [record('M-1', '{"n":3}'), record(null, '4'), record('M-2', null)];
    // Records after the mark are the new owner's own writes.
    const third = [markOf(restore), record('M-1', '2')];
    const goesOn = [first, second, third, [record('M-1', '3')]].map((records) =>
      restore.acceptRecords(records),
    );
    expect(goesOn).toEqual([true, true, false, false]);
    const values = { 'M-1': '{"n":3}', 'M-3': 'null' };
    await expect(restore.restoredValues(never)).resolves.toEqual(new Map(Object.entries(values)));
  });

  it('is not finished before the mark has come', async () => {
    const restore = new Restore('topic', 0);
    const log: string[] = [];
    const finished = restore.restoredValues(never).then(() => log.push('finished'));
    restore.acceptRecords([record('M-1', '1')]);
    await new Promise((resolve) => setImmediate(resolve));
    log.push('mark comes');
    restore.acceptRecords([markOf(restore)]);
    await finished;
    expect(log).toEqual(['mark comes', 'finished']);
  });

  it('ends with the reason of its signal when that aborts first', async () => {
    const controller = new AbortController();
    const finished = new Restore('topic', 0).restoredValues(controller.signal);
    controller.abort(new Error('no longer owned'));
    await expect(finished).rejects.toThrow('no longer owned');
    await expect(new Restore('topic', 0).restoredValues(controller.signal)).rejects.toThrow(
      'no longer owned',
    );
  });

  it('fails once nothing has come for 30 s, and accepts nothing more', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    const restore = new Restore('counts', 4);
    const finished = restore.restoredValues(never);
    jest.advanceTimersByTime(25_000);
    expect(restore.acceptRecords([record('M-1', '1')])).toBe(true);
    jest.advanceTimersByTime(29_000);
    expect(restore.acceptRecords([record('M-2', '2')])).toBe(true);
    jest.advanceTimersByTime(31_000);
    await expect(finished).rejects.toThrow(
      'Kafka says nothing more since 30 s: counts, partition 4',
    );
    expect(restore.acceptRecords([markOf(restore)])).toBe(false);
  });
});

const NAME = 'machine-bridge.counts.v1';
const KEYS = Array.from({ length: 40 }, (_, index) => `M-${index}`);

/** Partitions in Kafka; each owner reads its own from the beginning. */
class Topic {
  private readonly logs: OutboundRecord[][] = [];

  constructor(private width: number) {}

  get partitions(): number[] {
    return Array.from({ length: this.width }, (_, partition) => partition);
  }

  grow(more: number): void {
    this.width += more;
  }

  write(records: readonly OutboundRecord[]): void {
    for (const record of records) (this.logs[record.partition ?? -1] ??= []).push(record);
  }

  restore(partition: number, whenGrown?: string) {
    const placement = { topic: NAME, ...(whenGrown !== undefined && { whenGrown }) };
    const repartition = new Repartition(NAME, partition, this.width, placement);
    const texts = new Map<string, string>();
    for (const { key, value } of this.logs[partition] ?? []) {
      const text = value === null ? null : String(value);
      if (repartition.acceptHandOver(String(key), text === null ? null : Buffer.from(text)))
        continue;
      if (text === null) texts.delete(String(key));
      else texts.set(String(key), text);
    }
    return { repartition, texts };
  }

  /** Lets the owner of a partition hand over; it dies after this number of transactions. */
  handOver(partition: number, transactions = Infinity): void {
    const { repartition, texts } = this.restore(partition);
    let written = 0;
    for (const records of repartition.handOver(texts)) {
      if (written === transactions) return;
      this.write(records);
      written += 1;
    }
  }
}

function settledTopic(width: number): Topic {
  const topic = new Topic(width);
  for (const partition of topic.partitions) topic.handOver(partition);
  for (const key of KEYS) {
    topic.write([
      {
        topic: NAME,
        partition: partitionOf(key, width),
        key,
        value: `value of ${key}`,
        headers: {},
      },
    ]);
  }
  return topic;
}

describe('Repartition', () => {
  it('is over at first once each partition has stated that it holds no keys of others', () => {
    const topic = new Topic(3);
    topic.handOver(0);
    topic.handOver(2);
    expect(topic.restore(2).repartition.awaited).toEqual([1]);
    topic.handOver(1);
    expect(topic.partitions.map((it) => topic.restore(it).repartition.isOver)).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('writes nothing if nothing has changed', () => {
    const { repartition, texts } = settledTopic(3).restore(1);
    expect(repartition.isOver).toBe(true);
    expect([...repartition.handOver(texts)]).toEqual([]);
  });

  it('leaves each key only in the partition that it belongs to, whoever dies in between', () => {
    const growth = fc.record({
      more: fc.integer({ min: 1, max: 5 }),
      // Owners die at once, or after writing something, before the others begin.
      dead: fc.array(fc.record({ partition: fc.nat(20), transactions: fc.nat(1) })),
      order: fc.array(fc.nat(20)),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.array(growth, { maxLength: 3 }),
        (width, all) => {
          const topic = settledTopic(width);
          for (const { more, dead, order } of all) {
            topic.grow(more);
            const { partitions } = topic;
            const among = (number: number): number => number % partitions.length;
            for (const { partition, transactions } of dead) {
              topic.handOver(among(partition), transactions);
            }
            for (const partition of [...order.map(among), ...partitions]) topic.handOver(partition);
          }
          for (const partition of topic.partitions) {
            const { repartition, texts } = topic.restore(partition);
            expect(repartition.isOver).toBe(true);
            const ours = KEYS.filter(
              (key) => partitionOf(key, topic.partitions.length) === partition,
            );
            expect([...texts].sort()).toEqual(ours.map((key) => [key, `value of ${key}`]).sort());
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('lets no partition be owned before all others have handed over', () => {
    const topic = settledTopic(3);
    topic.grow(3);
    for (const partition of [1, 2, 3, 4, 5]) topic.handOver(partition);
    for (const partition of topic.partitions) {
      expect(topic.restore(partition).repartition.awaited).toEqual([0]);
    }
  });

  it('takes several transactions for many keys, the last of which states the end', () => {
    const many = Array.from({ length: 6000 }, (_, index): [string, string] => [`X-${index}`, 'x']);
    const repartition = new Repartition(NAME, 0, 2, { topic: NAME });
    const transactions = [...repartition.handOver(new Map(many))];
    expect(transactions.length).toBeGreaterThan(1);
    expect(
      transactions.map((records) =>
        records.some(({ key }) => repartition.acceptHandOver(String(key), null)),
      ),
    ).toEqual(transactions.map((_, index) => index === transactions.length - 1));
  });

  it('gives advice if keys do not move, and lets the others wait', () => {
    const topic = settledTopic(3);
    topic.grow(1);
    const { repartition, texts } = topic.restore(1, 'send all again');
    expect(() => [...repartition.handOver(texts)]).toThrow(
      new TopicGrownError(`${NAME} has 4 partitions and had 3: send all again`),
    );
    expect(topic.restore(3, 'send all again').repartition.isOver).toBe(false);
  });
});
