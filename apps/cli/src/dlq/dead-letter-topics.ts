import { deadLetterTopic, INPUT_TOPICS, WORK_ORDER_QUEUES } from '#libs/contracts';

export type FoundTopic = { ok: true; topic: string } | { ok: false; problem: string };

/** Topics as Kafka lists them, and the prefix of those that are the bridge's. */
export interface TopicListing {
  topics: readonly string[];
  topicPrefix: string;
}

/** Full names of the bridge's inputs that there are. */
export function inputTopics(listing: TopicListing): string[] {
  return existing(listing, INPUT_TOPICS);
}

/** Full names of the inputs' dead-letter topics that there are. */
export function deadLetterTopics(listing: TopicListing): string[] {
  return existing(listing, INPUT_TOPICS.map(deadLetterTopic));
}

/** Full names of those of the bridge's own topics, which only a fault of the bridge puts letters on. */
export function internalDeadLetterTopics(listing: TopicListing): string[] {
  return existing(listing, Object.values(WORK_ORDER_QUEUES).map(deadLetterTopic));
}

/** Finds a dead-letter topic by its own name or that of the topic it is for, each with or without the prefix. */
export function findDeadLetterTopic(name: string, listing: TopicListing): FoundTopic {
  const { topicPrefix } = listing;
  const there = [...deadLetterTopics(listing), ...internalDeadLetterTopics(listing)];
  const candidates = [name, deadLetterTopic(name)].flatMap((one) => [one, `${topicPrefix}${one}`]);
  const topic = there.find((one) => candidates.includes(one));
  if (topic !== undefined) return { ok: true, topic };
  const others = there.length === 0 ? 'there are none at all' : `there are: ${there.join(', ')}`;
  return { ok: false, problem: `no dead-letter topic is called ${name}; ${others}` };
}

function existing({ topics, topicPrefix }: TopicListing, names: readonly string[]): string[] {
  return names.map((name) => `${topicPrefix}${name}`).filter((name) => topics.includes(name));
}
