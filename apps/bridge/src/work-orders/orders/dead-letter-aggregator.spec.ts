import { jest } from '@jest/globals';
import { ManualClock, realDelayMs } from '#libs/clock';
import {
  createKafka,
  DeadLetters,
  type OutboundRecord,
  type RecordPlace,
  type StoredRecord,
} from '#libs/kafka';
import { bridgeSettings } from '../../platform/testing/bridge-settings.js';
import { CommandOutcomes, type RejectedResult } from '../../delivery/index.js';
import { inboundMessage, type KeptMessage } from '../../delivery/testing/inbound-message.js';
import { ORDER_REFUSALS } from './order-queues.js';
import { DeadLetterAggregator } from './dead-letter-aggregator.js';

const settings = bridgeSettings();
const ORDERS = 'erp.work-orders.v1';
const source = { topic: ORDERS, partition: 3, offset: 7, messageId: 'm-1', sender: 'erp' };
const storedAt = (place: RecordPlace): StoredRecord => ({
  ...{ ...place, timestamp: '5', key: Buffer.from('4711'), headers: [] },
  value: Buffer.from(`order ${place.offset}`),
});
const faultAt = (machineId: string): RejectedResult => ({
  ...{ kind: 'rejected', machineId, attempts: 1, httpStatus: 422 },
  rejection: { code: 'unknown-machine', detail: `no ${machineId}` },
});

describe('DeadLetterAggregator', () => {
  let orders: DeadLetterAggregator;
  let read: jest.SpiedFunction<DeadLetterAggregator['readMessages']>;

  beforeEach(() => {
    const kafka = createKafka(settings.kafka);
    const clock = new ManualClock();
    const outcomes = new CommandOutcomes(settings, clock, new DeadLetters(clock, ''));
    orders = new DeadLetterAggregator(settings, kafka, outcomes);
    read = jest.spyOn(orders, 'readMessages');
    read.mockImplementation((places) => Promise.resolve(places.map(storedAt)));
  });

  /** Hands over a refusal written by the machine's owner. */
  const refuse = (
    offset: number,
    machineId: string,
    { signal: revoked } = new AbortController(),
    ofOrder = 7,
  ): KeptMessage => {
    const key = Buffer.from('a-key');
    const place = { topic: ORDER_REFUSALS, partition: 3, offset, key };
    const message = inboundMessage({ ...place, revoked });
    const faults = [faultAt(machineId)];
    const its = { ...source, offset: ofOrder };
    const ending = [{ topic: ORDER_REFUSALS, partition: 3, key, value: null, headers: {} }];
    orders.addRefusal(message, { orderId: '4711', source: its, faults }, ending);
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

  it('writes one dead letter that names all machines, with an outcome and a tombstone for each', async () => {
    const [first, second] = [refuse(1, 'M-1'), refuse(2, 'M-2')];
    await endOf(first, second);
    expect([first.ends, second.ends]).toEqual([['finished'], ['finished']]);
    expect(deadLettersIn(second.last)).toEqual([]);
    const [deadLetter, ...more] = deadLettersIn(first.last);
    expect(more).toEqual([]);
    expect(deadLetter?.get('dlq-machine-ids')).toBe('M-1,M-2');
    expect(first.last.find(({ topic }) => topic.endsWith('.dlq'))).toMatchObject({
      topic: `${ORDERS}.dlq`,
      value: Buffer.from('order 7'),
    });
    const said = first.last.flatMap(({ topic, value }) =>
      topic.includes('outcomes') ? [JSON.parse(String(value)) as object] : [],
    );
    expect(said).toMatchObject([
      { machineId: 'M-1', code: 'unknown-machine', source },
      { machineId: 'M-2', code: 'unknown-machine', source },
    ]);
    expect(read).toHaveBeenCalledTimes(1);
    expect(first.last.slice(-2)).toEqual([tombstone(first), tombstone(second)]);
  });

  it('includes machines that are refused while the message is read', async () => {
    let second: KeptMessage | undefined;
    read.mockImplementation((places) => {
      second = refuse(2, 'M-2');
      return Promise.resolve(places.map(storedAt));
    });
    const first = refuse(1, 'M-1');
    await endOf(first);
    expect(deadLettersIn(first.last)[0]?.get('dlq-machine-ids')).toBe('M-1,M-2');
    expect(second?.ends).toEqual(['finished']);
  });

  it('writes what is known of a message that its topic no longer holds', async () => {
    read.mockResolvedValue([undefined]);
    const message = refuse(1, 'M-1');
    await endOf(message);
    const [found] = deadLettersIn(message.last);
    expect(found?.get('dlq-detail')).toBe('no M-1; the message itself is no longer in its topic');
    expect(found?.get('message-id')).toBe('m-1');
    expect(found?.get('dlq-value-omitted')).toBe('0');
    const record = message.last.find(({ topic }) => topic.endsWith('.dlq'));
    expect(record).toMatchObject({ key: Buffer.from('4711'), value: null });
    // Ingest finds the recipient of a notification by the sender.
    const outcome = message.last.find(({ topic }) => topic.includes('outcomes'));
    expect(JSON.parse(String(outcome?.value))).toMatchObject({ source });
  });

  // A single machine is named as well: the order may be on others.
  it('writes a later refusal in a dead letter of its own', async () => {
    const first = refuse(1, 'M-1');
    await endOf(first);
    expect(deadLettersIn(first.last)[0]?.get('dlq-machine-ids')).toBe('M-1');
    const second = refuse(2, 'M-2');
    await endOf(second);
    expect(deadLettersIn(second.last)[0]?.get('dlq-machine-ids')).toBe('M-2');
  });

  it('abandons a revoked refusal, whose redelivery may be waiting, too', async () => {
    const revoked = new AbortController();
    const [former, again] = [refuse(1, 'M-1', revoked), refuse(1, 'M-1')];
    revoked.abort();
    await endOf(former, again);
    expect([former.ends, former.last]).toEqual([['abandoned'], []]);
    expect(again.ends).toEqual(['finished']);
    expect(deadLettersIn(again.last)).toHaveLength(1);
  });

  it('reads all due messages at once, at most a hundred, and retries until Kafka answers', async () => {
    read.mockRejectedValueOnce(new Error('Kafka is away'));
    const offsets = Array.from({ length: 120 }, (_, offset) => offset);
    // All at once, however long that takes.
    const time = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    const messages = offsets.map((offset) => refuse(offset, 'M-1', undefined, offset));
    time.mockRestore();
    await endOf(...messages);
    expect(read.mock.calls.map(([places]) => places.length)).toEqual([100, 100, 20]);
    const values = messages.map(({ last: [deadLetter] }) => String(deadLetter?.value));
    expect(values).toEqual(offsets.map((offset) => `order ${offset}`));
  });

  it('abandons all refusals when all partitions are revoked during a read, and reads later ones', async () => {
    const revoked = [new AbortController(), new AbortController()] as const;
    const messages = revoked.map((controller, offset) => refuse(offset, 'M-1', controller, offset));
    let since: KeptMessage | undefined;
    read.mockImplementationOnce((_, signal) => {
      revoked[0].abort(new Error('another process has it'));
      expect(signal.aborted).toBe(false);
      since = refuse(1, 'M-1', undefined, 1);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        revoked[1].abort(new Error('another process has it'));
      });
    });
    await endOf(...messages);
    expect(messages.map(({ ends, last }) => [ends, last])).toEqual([
      [['abandoned'], []],
      [['abandoned'], []],
    ]);
    await endOf(since!);
    expect(since!.ends).toEqual(['finished']);
  });
});
