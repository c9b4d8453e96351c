import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { deadLetterHeaders, type MessageHeaders } from '#libs/contracts';
import type { InboundRecord } from '../reading/stored-record.js';
import { DeadLetters } from './dead-letters.js';
import { type OutboundRecord, RecordRefusedError } from './outbound-record.js';

const message: InboundRecord = {
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
};

function headersOf(record: OutboundRecord | undefined): MessageHeaders {
  const { headers = [] } = record ?? {};
  return Array.isArray(headers) ? (headers as MessageHeaders) : Object.entries(headers);
}

interface Sender {
  send: (record: OutboundRecord) => Promise<unknown>;
}

/** As the transactions of a partition do: a refused record is replaced by its leaner form. */
async function publish(
  deadLetters: DeadLetters,
  sender: Sender,
  ...[message, reason]: Parameters<DeadLetters['deadLetterOf']>
): Promise<void> {
  for (let next: OutboundRecord | undefined = deadLetters.deadLetterOf(message, reason); next;) {
    const { leaner, ...record }: OutboundRecord = next;
    next = await sender.send(record).then(
      () => undefined,
      (error: unknown): OutboundRecord => {
        if (error instanceof RecordRefusedError && leaner !== undefined) return leaner(error);
        throw error;
      },
    );
  }
}

describe('DeadLetters', () => {
  const sent: OutboundRecord[] = [];
  const sender: Sender = {
    send: (record) => {
      sent.push(record);
      return Promise.resolve();
    },
  };
  const deadLetters = new DeadLetters(new ManualClock(1_763_680_060_000), 'p1.');
  const notJson = { code: 'invalid-json', detail: 'no JSON', attempts: 0 } as const;
  /** The refusal of a topic that accepts no such records. */
  const refusing = (isTooLarge: (record: OutboundRecord) => boolean): Sender => ({
    send: (record) =>
      isTooLarge(record)
        ? Promise.reject(new RecordRefusedError('too-large', new Error('no more than that')))
        : sender.send(record),
  });

  beforeEach(() => {
    sent.length = 0;
  });

  it('keeps key, value and headers byte for byte and adds the reason', async () => {
    const reason = { code: 'unknown-machine', detail: 'no M-9', attempts: 0 } as const;
    await publish(deadLetters, sender, message, reason);
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

  it('drops the headers of an earlier dead letter that the message carries', async () => {
    const earlier = deadLetterHeaders({
      ...{ code: 'rejected-by-service', detail: 'refused', sourceTopic: 'old', sourcePartition: 9 },
      ...{ sourceOffset: '9', sourceTimestamp: '9', failedAt: 9, attempts: 9 },
      ...{ httpStatus: 422, machineIds: ['M-1'] },
    });
    const own: MessageHeaders = [
      ['dlq-of-the-sender', 'kept'],
      ...message.headers,
      ['DLQ-Machine-Ids', 'kept'],
    ];
    const copied: MessageHeaders = [...Object.entries(earlier), ...own, ['dlq-value-omitted', '7']];
    await publish(deadLetters, sender, { ...message, headers: copied }, notJson);
    await publish(deadLetters, sender, { ...message, headers: own }, notJson);
    expect(sent[0]).toEqual(sent[1]);
    expect(headersOf(sent[0]).slice(0, own.length)).toEqual(own);
  });

  it("names the service's answer and the machines at fault, if any", async () => {
    await publish(deadLetters, sender, message, {
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

  it('has a line in the log, or is counted in the next one if there are hundreds a second', async () => {
    const logged = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const lines = (): { offset: number; leftOut?: number }[] =>
      logged.mock.calls.map(([line]) => line as { offset: number });
    for (let offset = 0; lines().at(-1)?.leftOut === undefined; offset += 1) {
      await publish(deadLetters, sender, { ...message, offset }, notJson);
    }
    let next = 0;
    expect(lines()[0]).toMatchObject({ topic: 'p1.mes.downtime-reasons.v1' });
    for (const { offset, leftOut = 0 } of lines()) {
      expect(offset).toBe(next + leftOut);
      next = offset + 1;
    }
  });

  it.each([
    ['beyond-bound', 'no setting helps'],
    ['too-large', 'raise max.message.bytes'],
  ] as const)('says in the log what helps where it lacks its value: %s', (code, advice) => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const refusal = new RecordRefusedError(code, new Error('no more than that'));
    deadLetters.deadLetterOf(message, notJson).leaner?.(refusal);
    expect(logged.mock.calls).toEqual([
      [
        expect.objectContaining({
          msg: expect.stringContaining(advice) as string,
          topic: 'p1.mes.downtime-reasons.v1',
        }),
      ],
    ]);
  });

  it('leaves the value out, and states it, if the dead-letter topic refuses it', async () => {
    const noValues = refusing(({ value }) => value !== null);
    await publish(deadLetters, noValues, message, notJson);
    expect(sent).toMatchObject([{ key: message.key, value: null }]);
    const headers = headersOf(sent[0]);
    expect(headers.slice(0, message.headers.length)).toEqual(message.headers);
    expect(headers).toContainEqual(['dlq-source-offset', '41']);
    expect(headers.at(-1)).toEqual(['dlq-value-omitted', '2']);
  });

  describe('on a topic that accepts small records alone', () => {
    const LIMIT = 64 * 1024;
    const sizeOf = (record: OutboundRecord): number =>
      [record.key, record.value, ...headersOf(record).flat()]
        .map((part) => Buffer.byteLength(part ?? ''))
        .reduce((sum, bytes) => sum + bytes);
    const small = refusing((record) => sizeOf(record) > LIMIT);
    const reason = { code: 'rejected-by-service', detail: 'refused', attempts: 1 } as const;
    const huge = 'x'.repeat(LIMIT);

    it('leaves out the headers as well if they are too large, and states it', async () => {
      const headers: MessageHeaders = [['huge', huge]];
      await publish(
        deadLetters,
        small,
        { ...message, headers },
        { ...reason, machineIds: ['M-1'] },
      );
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

    it('leaves out the key and the machines at fault if these are too large', async () => {
      const machineIds = Array.from({ length: 1000 }, (_, one) => `${one}-${'x'.repeat(100)}`);
      const key = Buffer.from(huge);
      await publish(deadLetters, small, { ...message, key }, { ...reason, machineIds });
      const detail = 'without its headers, key, machines at fault; refused';
      expect(sent).toMatchObject([{ key: null, value: null, headers: { 'dlq-detail': detail } }]);
      expect(sent[0]?.headers).not.toHaveProperty('dlq-machine-ids');
    });
  });
});
