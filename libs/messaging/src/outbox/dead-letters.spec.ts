import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { deadLetterHeaders, type MessageHeaders } from '#libs/contracts';
import { type InboundMessage } from '../inbox/inbound-message.js';
import { PartitionOwnership } from '../inbox/partition-ownership.js';
import { DeadLetters } from './dead-letters.js';
import { type OutboundRecord } from './outbound-record.js';
import { type Outbox } from './outbox.js';
import { RecordRefusedError } from './record-refused.js';

const message: InboundMessage = {
  topic: 'mes.downtime-reasons.v1',
  partition: 2,
  offset: 41,
  timestamp: '1763680000123',
  key: Buffer.from([0xff, 0x00]),
  value: Buffer.from([0x7b, 0xfe]),
  headers: [
    ['twice', Buffer.from('a')],
    ['10', Buffer.from([0xfd])],
    ['9', null],
    ['twice', Buffer.alloc(0)],
  ],
  bytes: 17,
  ownership: new PartitionOwnership(),
  finish: () => undefined,
  doneInPart: () => undefined,
  abandon: () => undefined,
  fail: () => undefined,
};

function headersOf(record: OutboundRecord | undefined): MessageHeaders {
  const { headers = [] } = record ?? {};
  return Array.isArray(headers) ? (headers as MessageHeaders) : Object.entries(headers);
}

describe('DeadLetters', () => {
  const sent: OutboundRecord[] = [];
  const outbox: Pick<Outbox, 'send'> = {
    send: (record) => {
      sent.push(record);
      return Promise.resolve();
    },
  };
  const deadLetters = new DeadLetters(outbox as Outbox, new ManualClock(1_763_680_060_000), 'p1.');

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    sent.length = 0;
  });

  it('keeps key, value and headers byte for byte and adds why', async () => {
    await deadLetters.publish(message, { code: 'unknown-machine', detail: 'no M-9', attempts: 0 });
    expect(sent).toEqual([
      {
        topic: 'p1.mes.downtime-reasons.v1.dlq',
        key: message.key,
        value: message.value,
        headers: [
          ...message.headers,
          ['dlq-code', 'unknown-machine'],
          ['dlq-detail', 'no M-9'],
          ['dlq-source-topic', 'p1.mes.downtime-reasons.v1'],
          ['dlq-source-partition', '2'],
          ['dlq-source-offset', '41'],
          ['dlq-source-timestamp', '1763680000123'],
          ['dlq-failed-at', '1763680060'],
          ['dlq-attempts', '0'],
        ],
      },
    ]);
  });

  it('says nothing of an earlier dead letter whose headers the message carries', async () => {
    const earlier = deadLetterHeaders({
      ...{ code: 'rejected-by-service', detail: 'refused', sourceTopic: 'old', partition: 9 },
      ...{ offset: '9', timestamp: '9', failedAt: 9, attempts: 9 },
      ...{ httpStatus: 422, machineIds: ['M-1'] },
    });
    const own: MessageHeaders = [
      ['dlq-of-the-sender', 'kept'],
      ...message.headers,
      ['DLQ-Machine-Ids', 'kept'],
    ];
    const copied: MessageHeaders = [...Object.entries(earlier), ...own, ['dlq-value-omitted', '7']];
    const inLetter = { ...message, headers: copied };
    await deadLetters.publish(inLetter, { code: 'invalid-json', detail: 'no JSON', attempts: 0 });
    await deadLetters.publish(
      { ...message, headers: own },
      { code: 'invalid-json', detail: 'no JSON', attempts: 0 },
    );
    expect(sent[0]).toEqual(sent[1]);
    expect(headersOf(sent[0]).slice(0, own.length)).toEqual(own);
  });

  it("names the service's answer and the machines at fault where there are any", async () => {
    await deadLetters.publish(message, {
      code: 'rejected-by-service',
      detail: 'refused',
      attempts: 3,
      httpStatus: 422,
      machineIds: ['M-1', 'M-2'],
    });
    expect(Object.fromEntries(headersOf(sent[0]))).toMatchObject({
      'dlq-attempts': '3',
      'dlq-http-status': '422',
      'dlq-machine-ids': 'M-1,M-2',
    });
  });

  it('is not done before Kafka has taken the record', async () => {
    const refusing: Pick<Outbox, 'send'> = { send: () => Promise.reject(new Error('closed')) };
    const publish = new DeadLetters(refusing as Outbox, new ManualClock(), '').publish(message, {
      code: 'invalid-json',
      detail: 'no JSON',
      attempts: 0,
    });
    await expect(publish).rejects.toThrow('closed');
  });

  it('leaves the value out, and says so, when the dead-letter topic can never take it', async () => {
    const refusing: Pick<Outbox, 'send'> = {
      send: (record) => {
        if (record.value !== null) {
          return Promise.reject(new RecordRefusedError('too-large', new Error('1 MB at most')));
        }
        sent.push(record);
        return Promise.resolve();
      },
    };
    const letters = new DeadLetters(refusing as Outbox, new ManualClock(0), '');
    await letters.publish(message, { code: 'too-large', detail: 'large', attempts: 0 });
    expect(sent).toMatchObject([{ key: message.key, value: null }]);
    const headers = headersOf(sent[0]);
    expect(headers.slice(0, message.headers.length)).toEqual(message.headers);
    expect(headers).toContainEqual(['dlq-source-offset', '41']);
    expect(headers.at(-1)).toEqual(['dlq-value-omitted', '2']);
  });

  describe('on a topic that takes little', () => {
    const LIMIT = 64 * 1024;
    const sizeOf = (record: OutboundRecord): number =>
      [record.key, record.value, ...headersOf(record).flat()]
        .map((part) => Buffer.byteLength(part ?? ''))
        .reduce((sum, bytes) => sum + bytes);
    const refusing: Pick<Outbox, 'send'> = {
      send: (record) => {
        if (sizeOf(record) > LIMIT) {
          return Promise.reject(new RecordRefusedError('too-large', new Error('64 KiB at most')));
        }
        sent.push(record);
        return Promise.resolve();
      },
    };
    const letters = new DeadLetters(refusing as Outbox, new ManualClock(0), '');
    const reason = { code: 'rejected-by-service', detail: 'refused', attempts: 1 } as const;
    const huge = 'x'.repeat(LIMIT);

    it('leaves out the headers as well where they are what is too large, and says so', async () => {
      const headers: MessageHeaders = [['huge', huge]];
      await letters.publish({ ...message, headers }, { ...reason, machineIds: ['M-1'] });
      expect(sent).toMatchObject([{ key: message.key, value: null }]);
      expect(sent[0]?.headers).toMatchObject({
        'dlq-code': 'rejected-by-service',
        'dlq-detail': 'without its headers; refused',
        'dlq-machine-ids': 'M-1',
        'dlq-source-offset': '41',
        'dlq-value-omitted': '2',
      });
      expect(sent[0]?.headers).not.toHaveProperty('huge');
    });

    it('leaves out the key and the machines at fault where these are', async () => {
      const machineIds = Array.from(
        { length: 1000 },
        (_, number) => `${number}-${'x'.repeat(100)}`,
      );
      await letters.publish({ ...message, key: Buffer.from(huge) }, { ...reason, machineIds });
      const detail = 'without its headers, key, machines at fault; refused';
      expect(sent).toMatchObject([{ key: null, value: null, headers: { 'dlq-detail': detail } }]);
      expect(sent[0]?.headers).not.toHaveProperty('dlq-machine-ids');
    });
  });
});
