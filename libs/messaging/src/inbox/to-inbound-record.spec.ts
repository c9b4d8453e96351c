import { type KafkaMessage } from 'kafkajs';
import { toInboundRecord } from './to-inbound-record.js';

const message = (
  headers: object,
  more: { key?: Buffer; value?: Buffer; timestamp?: string } = {},
): KafkaMessage => ({
  key: null,
  value: Buffer.from('x'),
  timestamp: '1',
  attributes: 0,
  offset: '7',
  headers: headers as Record<string, Buffer>,
  ...more,
});

describe('toInboundRecord', () => {
  it('keeps what Kafka has, under the name it is given', () => {
    const timestamp = '1763680000123';
    const key = Buffer.from([0xff]);
    const value = Buffer.from([0, 1]);
    const record = toInboundRecord('topic', 3, message({}, { key, value, timestamp }));
    expect(record).toMatchObject({ topic: 'topic', partition: 3, offset: 7, timestamp });
    expect(record.key).toEqual(key);
    expect(record.value).toEqual(value);
  });

  it('keeps key and value that are not there, and headers that are not there, apart from empty ones', () => {
    const source = { offset: '7', timestamp: '1', attributes: 0, size: 0 };
    const bare: KafkaMessage = { ...source, key: null, value: null };
    const record = toInboundRecord('topic', 3, bare);
    expect(record).toMatchObject({ key: null, value: null, bytes: 0 });
    expect({ ...record.headers }).toEqual({});
    const empty = message({}, { key: Buffer.alloc(0), value: Buffer.alloc(0) });
    expect(toInboundRecord('topic', 3, empty)).toMatchObject({
      key: Buffer.alloc(0),
      value: Buffer.alloc(0),
    });
  });

  it('copies what kafkajs hands out as windows of the whole fetch', () => {
    const fetched = Buffer.alloc(64 * 1024, 'before');
    const { key, value, headers } = toInboundRecord(
      'topic',
      3,
      message(
        { one: fetched.subarray(12, 18), many: [fetched.subarray(18, 24)] },
        { key: fetched.subarray(0, 6), value: fetched.subarray(6, 12) },
      ),
    );
    fetched.fill('after!');
    const copies = [key, value, headers['one'], ...(headers['many'] as Buffer[])];
    for (const copy of copies) {
      if (!Buffer.isBuffer(copy)) throw new Error('bytes become bytes');
      expect(copy.toString()).toBe('before');
      expect(copy.buffer).not.toBe(fetched.buffer);
    }
  });

  it('counts the bytes of key, value and headers', () => {
    const headers = { name: Buffer.alloc(10), many: [Buffer.alloc(3), 'text'], none: null };
    const more = { key: Buffer.alloc(100), value: Buffer.alloc(1000) };
    const names = 'namemanynone'.length;
    const { bytes } = toInboundRecord('topic', 3, message(headers, more));
    expect(bytes).toBe(100 + 1000 + 10 + 3 + 4 + names);
  });

  it('keeps headers as they came, bytes and repeated names included', () => {
    const headers = { a: Buffer.from([0, 255]), b: [Buffer.from('1'), Buffer.from('2')], c: 'c' };
    expect({ ...toInboundRecord('topic', 3, message(headers)).headers }).toEqual(headers);
  });

  it('keeps a header that is called like the prototype of every object', () => {
    const headers = Object.fromEntries([['__proto__', Buffer.from('x')]]);
    const record = toInboundRecord('topic', 3, message(headers));
    expect(Object.entries(record.headers)).toEqual([['__proto__', Buffer.from('x')]]);
  });

  it('makes a null value empty, which kafkajs can write', () => {
    const { headers } = toInboundRecord('topic', 3, message({ a: null, b: [null] }));
    expect({ ...headers }).toEqual({ a: Buffer.alloc(0), b: [Buffer.alloc(0)] });
  });

  it('drops what kafkajs has taken for a header because every object has it', () => {
    const inherited = { constructor: [Object, Buffer.from('x')], toString: [Buffer.from('y')] };
    const { headers } = toInboundRecord('topic', 3, message(inherited));
    expect({ ...headers }).toEqual({
      constructor: [Buffer.from('x')],
      toString: [Buffer.from('y')],
    });
  });
});
