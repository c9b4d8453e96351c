const NO_RIGHT = 'a right is missing: Create, or Describe where there are such topics already';

/** Why a topic is not created, by the type of the broker's answer. */
const SAYINGS = new Map([
  ['TOPIC_AUTHORIZATION_FAILED', NO_RIGHT],
  ['CLUSTER_AUTHORIZATION_FAILED', NO_RIGHT],
  [
    'POLICY_VIOLATION',
    "the brokers' policy does not allow such topics as the bridge makes: create them by hand",
  ],
  [
    'INVALID_TOPIC_EXCEPTION',
    'not a name for a topic, or another one differs in dots and underscores alone: see KAFKA_TOPIC_PREFIX',
  ],
  [
    'INVALID_REPLICATION_FACTOR',
    "there are fewer brokers than the brokers' default.replication.factor asks for",
  ],
  ['INVALID_PARTITIONS', 'the brokers do not take the number in KAFKA_TOPIC_PARTITIONS'],
  [
    'INVALID_CONFIG',
    'the brokers do not take cleanup.policy or max.message.bytes as the bridge sets it: create them by hand',
  ],
]);
const ALREADY_THERE = 'TOPIC_ALREADY_EXISTS';

/** kafkajs's error of one of several topics. */
export interface CreateTopicFailure extends Error {
  type?: unknown;
  topic?: unknown;
}

/** Each reason with the topics it holds for. */
export function describeCreateTopicFailures(failures: readonly CreateTopicFailure[]): string {
  const topicsOf = new Map<string, string[]>();
  for (const { type, topic, message } of failures) {
    if (type === ALREADY_THERE) continue;
    const why = `${SAYINGS.get(String(type)) ?? message} (${String(type)})`;
    topicsOf.set(why, [...(topicsOf.get(why) ?? []), String(topic)]);
  }
  return [...topicsOf].map(([why, topics]) => `${why}: ${topics.join(', ')}`).join('; ');
}
