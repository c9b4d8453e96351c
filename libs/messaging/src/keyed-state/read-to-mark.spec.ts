import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { ensureTopics } from '../client/ensure-topics.js';
import { createKafka } from '../client/kafka-client.js';
import { readToMark } from './read-to-mark.js';
import { Restore } from './restore.js';
import { TransactionalWriter } from './transactional-writer.js';

describe('reading state that the own consumer does not bring', () => {
  Logger.overrideLogger(false);
  const brokers = readEnvironment()['KAFKA_BROKERS'] ?? '';
  const kafka = createKafka(loadKafkaSettings({ KAFKA_BROKERS: brokers }));
  const record = (topic: string, key: string, value: string) => ({
    ...{ topic, partition: 0, key, value, headers: {} },
  });

  const restoreOf = async (withMark: boolean): Promise<{ topic: string; restore: Restore }> => {
    const topic = `test-${randomUUID().slice(0, 8)}.counts`;
    const compacted = { name: topic, cleanupPolicy: 'compact' as const };
    await ensureTopics(kafka, [compacted], { create: true, partitions: 1 });
    const restore = new Restore(topic, 0);
    const writer = new TransactionalWriter(kafka, `${topic}-writer`);
    await writer.open();
    await writer.write([record(topic, 'M-1', '1'), record(topic, 'M-1', '2')]);
    if (withMark) await writer.write([restore.mark]);
    await writer.close();
    return { topic, restore };
  };

  const read = (topic: string, restore: Restore): Promise<Map<string, string>> =>
    readToMark(restore, {
      kafka,
      groupIdPrefix: topic,
      topic,
      partition: 0,
      signal: new AbortController().signal,
      putAside: () => undefined,
    });

  it('comes to the mark', async () => {
    const { topic, restore } = await restoreOf(true);
    expect(await read(topic, restore)).toEqual(new Map([['M-1', '2']]));
  });

  it('fails where the mark is no more, and leaves nobody waiting for what has been read', async () => {
    const { topic, restore } = await restoreOf(false);
    const finished = jest.spyOn(restore, 'finished');
    await expect(read(topic, restore)).rejects.toThrow('the mark of the restore');
    await expect(finished.mock.results[0]?.value).rejects.toThrow('the read is over');
  });
});
