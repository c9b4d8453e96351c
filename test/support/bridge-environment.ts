import type { Environment } from '#libs/config';
import { testBrokers } from './kafka.js';

interface BridgeSurroundings {
  /** Those of the tests if absent. */
  brokers?: readonly string[];
  topicPrefix: string;
  /** Of topics that it creates; 6 if absent. */
  partitions?: number;
  sandboxUrl: string;
}

/** The settings that every process of a group needs, on any free port. */
export function bridgeEnvironment(surroundings: BridgeSurroundings): Environment {
  const { brokers = testBrokers(), topicPrefix, partitions = 6, sandboxUrl } = surroundings;
  return {
    KAFKA_BROKERS: brokers.join(','),
    KAFKA_TOPIC_PREFIX: topicPrefix,
    KAFKA_GROUP_ID: groupIdOf(topicPrefix),
    KAFKA_TOPIC_PARTITIONS: String(partitions),
    MACHINE_CLOUD_BASE_URL: sandboxUrl,
    MACHINE_CLOUD_TOKEN: 'sandbox-token',
    BRIDGE_HTTP_PORT: '0',
  };
}

export function groupIdOf(topicPrefix: string): string {
  return `${topicPrefix}bridge`;
}
