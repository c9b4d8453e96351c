import type { Environment } from '#libs/config';
import { testBrokers } from './kafka.js';

interface BridgeSurroundings {
  /** Default: the brokers of the tests. */
  brokers?: readonly string[];
  topicPrefix: string;
  /** Partitions of topics that the bridge creates; 6 by default. */
  partitions?: number;
  sandboxUrl: string;
}

/** The settings that every process of a group needs; the HTTP port is any free one. */
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
