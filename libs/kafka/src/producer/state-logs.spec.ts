import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { OutboundRecord } from './outbound-record.js';
import { StateLogs } from './state-logs.js';

const TOPIC = 'machine-bridge.orders.v1';

describe('StateLogs', () => {
  let logs: StateLogs;
  let errors: unknown[];

  beforeEach(() => {
    errors = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((entry: unknown) => {
      errors.push(entry);
    });
    logs = new StateLogs();
  });

  const record = (partition: number): OutboundRecord => {
    return { topic: TOPIC, partition, key: 'a', value: '1', headers: {}, isState: true };
  };

  /** Sends a record; the returned function stores it. */
  const send = (partition: number) => {
    const ends = logs.endsOf([record(partition)]);
    return (offset: number): void =>
      logs.recordsStored(ends, [{ topicName: TOPIC, partition, baseOffset: String(offset) }]);
  };

  it('report, once, that records are stored before those that were stored earlier', () => {
    send(0)(100);
    send(1)(7);
    send(0)(3);
    send(0)(4);
    const msg = expect.stringContaining('state lost') as string;
    expect(errors).toEqual([{ msg, topic: TOPIC, partition: 0, offset: 3, end: 101 }]);
    expect([...logs.losses]).toEqual([[TOPIC, 1]]);
  });

  it('report nothing while a log grows, whichever writer hears first where its records are', () => {
    const [first, second] = [send(0), send(0)];
    second(101);
    first(100);
    send(0)(102);
    expect(errors).toEqual([]);
  });

  it('report a loss once if several writers notice it', () => {
    send(0)(100);
    const [first, second] = [send(0), send(0)];
    second(1);
    first(0);
    expect(errors).toHaveLength(1);
  });

  it('pass over records that are no state, and answers without an offset', () => {
    const { isState, ...other } = record(0);
    expect(isState).toBe(true);
    expect(logs.endsOf([other]).size).toBe(0);
    send(0)(100);
    logs.recordsStored(logs.endsOf([record(0)]), [{ topicName: TOPIC, partition: 0 }]);
    send(0)(-1);
    expect(errors).toEqual([]);
  });
});
