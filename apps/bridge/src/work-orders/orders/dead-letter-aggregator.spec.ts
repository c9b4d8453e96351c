import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock, realDelayMs } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import {
  createKafka,
  DeadLetters,
  type InboundMessage,
  type OutboundRecord,
  type RecordPlace,
  type StoredRecord,
} from '#libs/kafka';
import { CommandOutcomes, type RejectedResult } from '../../delivery/index.js';
import { inboundMessage, type KeptMessage } from '../../delivery/testing/inbound-message.js';
import { ORDER_REFUSALS } from './queues.js';
import { BatchedRecordReader, DeadLetterAggregator } from './dead-letter-aggregator.js';
import type { QueueRetention } from './queue-retention.js';

const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
});
const ORDERS = 'erp.work-orders.v1';
const source = { topic: ORDERS, partition: 3, offset: 7, messageId: 'm-1' };
const retention = {
  endOf: ({ topic, partition, key }: InboundMessage) => [
    { topic, partition, key, value: null, headers: {} },
  ],
} as unknown as QueueRetention;
const faultAt = (machineId: string): RejectedResult => ({
  ...{ kind: 'rejected', machineId, attempts: 1, httpStatus: 422 },
  rejection: { code: 'unknown-machine', detail: `no ${machineId}` },
});

describe('DeadLetterAggregator', () => {
  let orders: DeadLetterAggregator;
  let read: jest.SpiedFunction<BatchedRecordReader['read']>;

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    const kafka = createKafka(settings.kafka);
    const clock = new ManualClock();
    const outcomes = new CommandOutcomes(settings, clock, new DeadLetters(clock, ''));
    orders = new DeadLetterAggregator(settings, kafka, outcomes, retention);
    const stored = { key: Buffer.from('4711'), value: Buffer.from('an order'), headers: [] };
    read = jest.spyOn(BatchedRecordReader.prototype, 'read');
    read.mockResolvedValue({ ...source, timestamp: '5', ...stored });
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Takes what a machine's owner has written of its refusal. */
  const refuse = (
    offset: number,
    machineId: string,
    { signal: revoked } = new AbortController(),
  ): KeptMessage => {
    const place = { topic: ORDER_REFUSALS, partition: 3, offset, key: Buffer.from('a-key') };
    const message = inboundMessage({ ...place, revoked });
    const faults = [faultAt(machineId)];
    orders.takeRefusal(message, { orderId: '4711', source, faults });
    return message;
  };

  const endOf = async (...messages: KeptMessage[]): Promise<void> => {
    while (messages.some(({ ends }) => ends.length === 0)) await realDelayMs(10);
  };

  const deadLettersIn = (records: readonly OutboundRecord[]): Map<string, string>[] =>
    records
      .filter(({ topic }) => topic.endsWith('.dlq'))
      .map(({ headers }) => {
        const all = headers as [name: string, value: Buffer | string][];
        return new Map(all.map(([name, value]) => [name, String(value)]));
      });

  const tombstone = ({ key }: KeptMessage): object => {
    return { topic: ORDER_REFUSALS, partition: 3, key, value: null, headers: {} };
  };

  it('writes one dead letter that names all machines, and an outcome of each beside it', async () => {
    const [first, second] = [refuse(1, 'M-1'), refuse(2, 'M-2')];
    await endOf(first, second);
    expect([first.ends, second.ends]).toEqual([['finished'], ['finished']]);
    expect(deadLettersIn(second.last)).toEqual([]);
    const [deadLetter, ...more] = deadLettersIn(first.last);
    expect(more).toEqual([]);
    expect(deadLetter?.get('dlq-machine-ids')).toBe('M-1,M-2');
    expect(first.last.find(({ topic }) => topic.endsWith('.dlq'))).toMatchObject({
      topic: `${ORDERS}.dlq`,
      value: Buffer.from('an order'),
    });
    const said = first.last.flatMap(({ topic, value }) =>
      topic.includes('outcomes') ? [JSON.parse(String(value)) as object] : [],
    );
    expect(said).toMatchObject([
      { machineId: 'M-1', code: 'unknown-machine', source },
      { machineId: 'M-2', code: 'unknown-machine', source },
    ]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('names those in it that are refused while the message is read', async () => {
    let second: KeptMessage | undefined;
    read.mockImplementation((place) => {
      second = refuse(2, 'M-2');
      return Promise.resolve({
        ...source,
        ...place,
        timestamp: '5',
        key: null,
        value: null,
        headers: [],
      });
    });
    const first = refuse(1, 'M-1');
    await endOf(first);
    expect(deadLettersIn(first.last)[0]?.get('dlq-machine-ids')).toBe('M-1,M-2');
    expect(second?.ends).toEqual(['finished']);
  });

  it('leaves a tombstone of each refusal, written with the dead letter', async () => {
    const [first, second] = [refuse(1, 'M-1'), refuse(2, 'M-2')];
    await endOf(first, second);
    expect(first.last.slice(-2)).toEqual([tombstone(first), tombstone(second)]);
  });

  it('names the machine also where one alone was refused: the order may stand at others', async () => {
    const message = refuse(1, 'M-1');
    await endOf(message);
    expect(deadLettersIn(message.last)[0]?.get('dlq-machine-ids')).toBe('M-1');
  });

  it('says what it knows of a message that is gone from its topic', async () => {
    read.mockResolvedValue(undefined);
    const message = refuse(1, 'M-1');
    await endOf(message);
    const [found] = deadLettersIn(message.last);
    expect(found?.get('dlq-detail')).toBe('no M-1; the message itself is no longer in its topic');
    expect(found?.get('message-id')).toBe('m-1');
    const record = message.last.find(({ topic }) => topic.endsWith('.dlq'));
    expect(record).toMatchObject({ key: Buffer.from('4711'), value: null });
  });

  it('writes what comes later in a dead letter of its own', async () => {
    const first = refuse(1, 'M-1');
    await endOf(first);
    const second = refuse(2, 'M-2');
    await endOf(second);
    expect(deadLettersIn(second.last)[0]?.get('dlq-machine-ids')).toBe('M-2');
  });

  it('leaves a refusal that was revoked to its redelivery, which it may share the wait with', async () => {
    const revoked = new AbortController();
    const [former, again] = [refuse(1, 'M-1', revoked), refuse(1, 'M-1')];
    revoked.abort();
    await endOf(former, again);
    expect([former.ends, former.last]).toEqual([['abandoned'], []]);
    expect(again.ends).toEqual(['finished']);
    expect(deadLettersIn(again.last)).toHaveLength(1);
  });

  it('leaves all to the new owner of the partition where it is lost meanwhile', async () => {
    read.mockImplementation(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    );
    const revoking = new AbortController();
    const message = refuse(1, 'M-1', revoking);
    while (read.mock.calls.length === 0) await realDelayMs(10);
    revoking.abort(new Error('another process has it'));
    await endOf(message);
    expect([message.ends, message.last]).toEqual([['abandoned'], []]);
  });
});

const never = new AbortController().signal;

const place = (offset: number): RecordPlace => ({ topic: 'orders', partition: 0, offset });

const recordAt = (where: RecordPlace): StoredRecord => ({
  ...where,
  timestamp: '0',
  key: null,
  value: Buffer.from(`value ${where.offset}`),
  headers: [],
});

describe('reads that are batched', () => {
  /** Offsets of each read. */
  let asked: number[][];
  let answer: (
    places: readonly RecordPlace[],
    signal: AbortSignal,
  ) => Promise<(StoredRecord | undefined)[]>;
  let reads: BatchedRecordReader;

  beforeEach(() => {
    asked = [];
    answer = (places) => Promise.resolve(places.map(recordAt));
    reads = new BatchedRecordReader((places, signal) => {
      asked.push(places.map(({ offset }) => offset));
      return answer(places, signal);
    });
  });

  const valueAt = async (offset: number, signal = never): Promise<string | undefined> =>
    (await reads.read(place(offset), signal))?.value?.toString();

  it('are one read, which asks for each place once and gives everybody his own', async () => {
    const values = await Promise.all([7, 8, 7, 9].map((offset) => valueAt(offset)));
    expect(values).toEqual(['value 7', 'value 8', 'value 7', 'value 9']);
    expect(asked).toEqual([[7, 8, 9]]);
  });

  it('answer nothing for a record that is lost', async () => {
    answer = (places) =>
      Promise.resolve(places.map((each) => (each.offset === 7 ? undefined : recordAt(each))));
    expect(await Promise.all([valueAt(7), valueAt(8)])).toEqual([undefined, 'value 8']);
  });

  it('hold no more than a hundred messages at once', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, offset) => valueAt(offset)));
    expect(asked.map(({ length }) => length)).toEqual([100, 100, 50]);
  });

  it('follow one another, with all that was asked for meanwhile', async () => {
    const later: Promise<string | undefined>[] = [];
    answer = (places) => {
      if (later.length === 0) later.push(valueAt(8), valueAt(9));
      return Promise.resolve(places.map(recordAt));
    };
    await valueAt(7);
    expect(await Promise.all(later)).toEqual(['value 8', 'value 9']);
    expect(asked).toEqual([[7], [8, 9]]);
  });

  it('go on until Kafka answers', async () => {
    let failures = 2;
    answer = (places) => {
      failures -= 1;
      return failures < 0
        ? Promise.resolve(places.map(recordAt))
        : Promise.reject(new Error('Kafka is away'));
    };
    expect(await valueAt(7)).toBe('value 7');
    expect(asked).toEqual([[7], [7], [7]]);
  });

  it('end once nobody waits any more, and not before', async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const signals: AbortSignal[] = [];
    const begun = new Promise<void>((resolve) => {
      answer = (_, signal) => {
        signals.push(signal);
        resolve();
        return new Promise((__, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        });
      };
    });
    const waiting = [valueAt(7, one.signal), valueAt(8, other.signal)];
    await begun;
    one.abort(new Error('one is lost'));
    await expect(waiting[0]).rejects.toThrow('one is lost');
    expect(signals[0]?.aborted).toBe(false);
    other.abort(new Error('the other is lost'));
    await expect(waiting[1]).rejects.toThrow('the other is lost');
    expect(signals[0]?.aborted).toBe(true);
    answer = (places) => Promise.resolve(places.map(recordAt));
    expect(await valueAt(9)).toBe('value 9');
  });
});
