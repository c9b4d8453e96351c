import { Logger } from '@nestjs/common';
import { type Admin, ConfigResourceTypes } from '../kafkajs.js';
import { describeKafkaFailure } from './describe-kafka-failure.js';

const logger = new Logger('Topics');

/** Says which of these topics, all of which are to be compacted, somebody else has made with a policy that deletes. */
export async function warnOfDeletion(admin: Admin, compacted: readonly string[]): Promise<void> {
  if (compacted.length === 0) return;
  try {
    const topics = await withDeletion(admin, compacted);
    if (topics.length === 0) return;
    logger.warn({
      msg: 'topics lose what they hold after their retention: make them compact, see Topics in docs/operations.md',
      topics,
    });
  } catch (error) {
    // To read it takes the right to DescribeConfigs, which nothing else does.
    logger.debug({ msg: 'cleanup policies not read', error: describeKafkaFailure(error) });
  }
}

async function withDeletion(admin: Admin, topics: readonly string[]): Promise<string[]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => {
      return { type: ConfigResourceTypes.TOPIC, name, configNames: ['cleanup.policy'] };
    }),
  });
  return resources
    .filter(({ configEntries }) =>
      configEntries.some(({ configValue }) => configValue.split(',').includes('delete')),
    )
    .map(({ resourceName }) => resourceName);
}
