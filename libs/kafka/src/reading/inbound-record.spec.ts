import { createRequire } from 'node:module';
import { DecodedRecord, type KafkaMessage } from '#libs/kafkajs-patches';
import { toInboundRecord } from './inbound-record.js';

const encodeRecord = (record: object): Buffer =>
  (
    createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/record/v0/index.js') as (
      record: object,
    ) => { buffer: Buffer }
  )(record).buffer;

/** In a format before Kafka 0.11, which kafkajs itself reads. */
const message = (more: { key?: Buffer; value?: Buffer }): KafkaMessage => ({
  key: null,
  value: null,
  timestamp: '1763680000123',
  attributes: 0,
  offset: '7',
  headers: {},
  ...more,
});

describe('toInboundRecord', () => {
  it('keeps what Kafka has, under the name it is given', () => {
    const fields = {
      key: Buffer.from([0xff]),
      value: Buffer.from([0, 1]),
    };
    expect(toInboundRecord('topic', 3, message(fields))).toMatchObject({
      ...fields,
      headers: [],
      topic: 'topic',
      partition: 3,
      offset: 7,
      timestamp: '1763680000123',
    });
  });

  it('keeps key and value that are not there apart from empty ones', () => {
    expect(toInboundRecord('topic', 3, message({}))).toMatchObject({
      key: null,
      value: null,
      bytes: 0,
    });
    const empty = { key: Buffer.alloc(0), value: Buffer.alloc(0) };
    expect(toInboundRecord('topic', 3, message(empty))).toMatchObject({ ...empty, bytes: 0 });
  });

  it('counts the bytes of key and value', () => {
    const fields = { key: Buffer.alloc(100), value: Buffer.alloc(1000) };
    expect(toInboundRecord('topic', 3, message(fields)).bytes).toBe(100 + 1000);
  });

  it('says of a record that is not read yet what it says when it is', () => {
    const fields = { key: 'key', value: 'value', headers: { 9: ['one', 'two'], 10: 'three' } };
    const bytes = encodeRecord({ ...fields, offsetDelta: 2, timestampDelta: 3 });
    const batch = { firstOffset: '5', firstTimestamp: '1763680000120' };
    const unread = new DecodedRecord(bytes, 1, bytes.length, batch);
    expect(toInboundRecord('topic', 3, unread)).toMatchObject({
      topic: 'topic',
      partition: 3,
      offset: 7,
      timestamp: '1763680000123',
      key: Buffer.from('key'),
      value: Buffer.from('value'),
      headers: [
        ['9', Buffer.from('one')],
        ['9', Buffer.from('two')],
        ['10', Buffer.from('three')],
      ],
      bytes: bytes.length - 1,
    });
  });
});
