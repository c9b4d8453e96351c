import { Logger } from '@nestjs/common';
import {
  type Admin,
  ConfigResourceTypes,
  type DescribeConfigResponse,
} from '#libs/kafkajs-patches';
import { describeKafkaFailure } from './describe-kafka-failure.js';

const logger = new Logger('Topics');

/** Says which of these topics, all of which are to keep what they hold, somebody else has made with a policy that deletes. */
export async function warnOfDeletion(admin: Admin, kept: readonly string[]): Promise<void> {
  if (kept.length === 0) return;
  try {
    const topics = await withDeletion(admin, kept);
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

const UNLIMITED = '-1';

async function withDeletion(admin: Admin, kept: readonly string[]): Promise<string[]> {
  const configNames = ['cleanup.policy', 'retention.ms', 'retention.bytes'];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: kept.map((name) => ({ type: ConfigResourceTypes.TOPIC, name, configNames })),
  });
  return resources.filter(isLimited).map(({ resourceName }) => resourceName);
}

function isLimited({ configEntries }: DescribeConfigResponse['resources'][number]): boolean {
  const valueOf = new Map(configEntries.map((entry) => [entry.configName, entry.configValue]));
  if (valueOf.get('cleanup.policy')?.split(',').includes('delete') !== true) return false;
  return [valueOf.get('retention.ms'), valueOf.get('retention.bytes')].some(
    (limit) => limit !== UNLIMITED,
  );
}
