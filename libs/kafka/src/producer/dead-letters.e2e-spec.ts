import { randomBytes, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { ensureTopics } from '../client/ensure-topics.js';
import { createKafka } from '../client/kafka-client.js';
import { DeadLetters } from './dead-letters.js';
import { IdempotentProducer } from './idempotent-producer.js';
import { type OutboundRecord, RecordRefusedError } from './outbound-record.js';

const SOURCE = 'mes.downtime-reasons.v1';

describe('a dead letter that its topic refuses', () => {
  Logger.overrideLogger(false);

  it.each([
    [60 * 1024 * 1024, 'no setting helps'],
    [1024 * 1024 + 1, 'raise max.message.bytes'],
  ])('says in the log what helps where it lacks its value of %i bytes', async (bytes, advice) => {
    const kafka = createKafka(loadKafkaSettings(readEnvironment()));
    const topicPrefix = `test-${randomUUID().slice(0, 8)}.`;
    const name = `${topicPrefix}${SOURCE}.dlq`;
    const topics = [{ name, cleanupPolicy: 'delete' as const, maxMessageBytes: 1024 * 1024 }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    const producer = new IdempotentProducer(kafka);
    const deadLetters = new DeadLetters(new ManualClock(0), topicPrefix);
    const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const message = {
      ...{ topic: SOURCE, partition: 2, offset: 41, timestamp: '1763680000123' },
      ...{ key: null, value: randomBytes(bytes), headers: [], bytes },
    };
    const reason = { code: 'too-large', detail: '', attempts: 0 } as const;
    const deadLetter: OutboundRecord = deadLetters.deadLetterOf(message, reason);
    const { leaner, ...record } = deadLetter;
    const refused = await producer.send(record).catch((error: unknown) => error);
    if (!(refused instanceof RecordRefusedError)) throw new Error('it was not refused');
    await producer.send(leaner!(refused));
    expect(logged.mock.calls).toEqual([
      [expect.objectContaining({ msg: expect.stringContaining(advice) as string })],
    ]);
    logged.mockRestore();
    await producer.close();
  });
});
