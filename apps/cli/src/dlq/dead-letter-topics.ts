import { deadLetterTopic, INPUT_TOPICS, WORK_ORDER_QUEUES } from '#libs/contracts';

export interface TopicListing {
  topics: readonly string[];
  topicPrefix: string;
}

export function inputTopics(listing: TopicListing): string[] {
  return existingTopics(listing, INPUT_TOPICS);
}

export function deadLetterTopics(listing: TopicListing): string[] {
  return existingTopics(listing, INPUT_TOPICS.map(deadLetterTopic));
}

/** Full names of the existing dead-letter topics of queues, which have records only after a bug of the bridge. */
export function internalDeadLetterTopics(listing: TopicListing): string[] {
  return existingTopics(listing, Object.values(WORK_ORDER_QUEUES).map(deadLetterTopic));
}

/**
 * Finds a dead-letter topic by its name or that of its source topic, with or without the prefix.
 *
 * @throws Error that lists the existing topics
 */
export function findDeadLetterTopic(name: string, listing: TopicListing): string {
  const { topicPrefix } = listing;
  const there = [...deadLetterTopics(listing), ...internalDeadLetterTopics(listing)];
  const candidates = [name, deadLetterTopic(name)].flatMap((one) => [one, `${topicPrefix}${one}`]);
  const topic = there.find((one) => candidates.includes(one));
  if (topic !== undefined) return topic;
  const others = there.length === 0 ? 'there are none at all' : `there are: ${there.join(', ')}`;
  throw new Error(`no dead-letter topic is called ${name}; ${others}`);
}

function existingTopics({ topics, topicPrefix }: TopicListing, names: readonly string[]): string[] {
  return names.map((name) => `${topicPrefix}${name}`).filter((name) => topics.includes(name));
}
