import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { loadKafkaSettings } from '#libs/config';
import {
  createKafka,
  ensureTopics,
  MissingTopicsError,
  partitionCount,
  type TopicSpecification,
} from '#libs/kafka';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import type { TestTopics } from '../support/test-topics.js';

describe('the topics the bridge needs', () => {
  const kafka = createKafka(loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') }));
  let prefix: string;
  let topics: TestTopics;

  beforeEach(() => {
    prefix = uniqueTopicPrefix();
    ({ topics } = new TestKafka(testBrokers(), prefix));
  });

  const topic = (name: string, ...asWideAs: string[]): TopicSpecification => ({
    name: `${prefix}${name}`,
    cleanupPolicy: asWideAs.length > 0 ? 'compact' : 'delete',
    ...(asWideAs.length > 0 && { asWideAs: asWideAs.map((other) => `${prefix}${other}`) }),
  });

  const ensure = (partitions: number, ...topics: TopicSpecification[]): Promise<void> =>
    ensureTopics(kafka, topics, { create: true, partitions });

  const compacted = (...names: string[]): TopicSpecification[] =>
    names.map((name) => ({ ...topic(name), cleanupPolicy: 'compact' }));

  /** Collects warnings except those of kafkajs, as a new topic may have no leader yet. */
  const warnings = (): unknown[] => {
    const warned: unknown[] = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(function (this: Logger, line: unknown) {
      if ((this as unknown as { context: string }).context !== 'kafkajs') warned.push(line);
    });
    return warned;
  };

  const widthOf = (name: string): Promise<number> => partitionCount(kafka, `${prefix}${name}`);

  it('are created as specified, and left unchanged once they exist', async () => {
    const limits = { maxMessageBytes: 100_000, maxCompactionLagMs: 3_600_000 };
    await ensure(2, { ...topic('state', 'lists'), ...limits }, topic('lists'));
    await ensure(5, topic('state', 'lists'), topic('lists'));
    expect(await widthOf('lists')).toBe(2);
    expect(await widthOf('state')).toBe(2);
    expect(await topics.configOf('state')).toMatchObject({
      'cleanup.policy': 'compact',
      'max.message.bytes': '100000',
      'max.compaction.lag.ms': '3600000',
    });
  });

  it('cause a warning if they delete instead of compacting, and are used unchanged', async () => {
    const warned = warnings();
    await ensure(1, topic('deleted'), topic('lists'), ...compacted('compacted'));
    await topics.createCompacted('in-part', { 'cleanup.policy': 'compact,delete' });
    expect(warned).toEqual([]);
    await ensure(1, topic('lists'), ...compacted('deleted', 'compacted', 'in-part', 'new'));
    expect(warned).toEqual([
      {
        msg: expect.stringMatching(/lose what they hold.*make them compact/) as string,
        topics: [`${prefix}deleted`, `${prefix}in-part`],
      },
    ]);
  });

  it('are used unchanged when their configuration may not be read', async () => {
    const warned = warnings();
    await ensure(1, topic('deleted'));
    const refuse = jest.fn(() => Promise.reject(new Error('TOPIC_AUTHORIZATION_FAILED')));
    const withoutRight = Object.assign(Object.create(kafka) as typeof kafka, {
      admin: () => ({ ...kafka.admin(), describeConfigs: refuse }),
    });
    await ensureTopics(withoutRight, compacted('deleted'), { create: true, partitions: 1 });
    expect(refuse).toHaveBeenCalledTimes(1);
    expect(warned).toEqual([]);
  });

  it('are named when they are missing and must not be created', async () => {
    await ensure(1, topic('lists'));
    const needed = [topic('lists'), topic('reasons'), topic('state', 'reasons')];
    const refused = ensureTopics(kafka, needed, { create: false, partitions: 1 });
    await expect(refused).rejects.toThrow(MissingTopicsError);
    await expect(refused).rejects.toMatchObject({
      topics: [`${prefix}reasons`, `${prefix}state`],
    });
  });

  it('get at least as many partitions as the topics they are tied to', async () => {
    await ensure(3, topic('lists'));
    await ensure(5, topic('reasons'));
    await ensure(2, topic('of-lists', 'lists'), topic('of-both', 'lists', 'reasons'));
    expect(await widthOf('of-lists')).toBe(3);
    expect(await widthOf('of-both')).toBe(5);
    await ensure(7, topic('wide'));
    await ensure(2, topic('wide', 'lists'));
    expect(await widthOf('wide')).toBe(7);
  });

  it('grow when the topics they are tied to have grown', async () => {
    await ensure(2, topic('lists'), topic('state', 'lists'));
    await topics.growToPartitions('lists', 4);
    await ensure(2, topic('lists'), topic('state', 'lists'));
    expect(await widthOf('state')).toBe(4);
  });

  it('stay unchanged when nothing may be created, and are named if they have too few partitions', async () => {
    await ensure(1, topic('state'));
    await ensure(3, topic('lists'));
    const needed = [topic('lists'), topic('state', 'lists')];
    await expect(ensureTopics(kafka, needed, { create: false, partitions: 1 })).rejects.toThrow(
      /state \(3 partitions\)/,
    );
    expect(await widthOf('state')).toBe(1);
  });

  it('exist for all processes that create them at the same time', async () => {
    const start = (): Promise<void> => ensure(3, topic('lists'), topic('state', 'lists'));
    await Promise.all([start(), start(), start()]);
    expect(await widthOf('lists')).toBe(3);
    expect(await widthOf('state')).toBe(3);
  });

  it('are created as wide as others if the key’s hash decides, and keep their width', async () => {
    const changes = { ...topic('changes'), createdAsWideAs: [`${prefix}lists`] };
    await ensure(2, topic('lists', 'orders'), changes, topic('orders'));
    await ensure(4, topic('more'));
    await ensure(4, topic('lists', 'more'), changes);
    expect(await widthOf('lists')).toBe(4);
    expect(await widthOf('changes')).toBe(2);
  });

  it('are wide enough when several processes widen them at the same time', async () => {
    await ensure(1, topic('state'));
    const start = (): Promise<void> => ensure(3, topic('lists'), topic('state', 'lists'));
    await Promise.all([start(), start(), start()]);
    expect(await widthOf('state')).toBe(3);
  });
});
