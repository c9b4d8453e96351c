import { type BridgeSettings } from '#libs/config';
import { deadLetterTopic, INPUT_TOPICS, TOPICS } from '#libs/contracts';
import {
  isForbiddenTopic,
  type KafkaClient,
  readSince,
  type StoredRecord,
  type TakenOver,
  topicNames,
} from '#libs/messaging';

/** Commits are half a second apart: this is as much as can be told between two of them. */
const MAX_PER_PARTITION = 20_000;

export interface ReadToldOptions {
  signal: AbortSignal;
  onRecords: (records: readonly StoredRecord[]) => void;
  /** Kafka does not let this client read them: the outcomes are read without them. */
  onLettersForbidden: (error: unknown) => void;
}

/**
 * Reads the outcomes that have been written since the last commits of partitions, and the dead letters of the
 * topics whose messages may be delivered again. Some may come twice.
 */
export async function readTold(
  kafka: KafkaClient,
  { topicPrefix, groupId }: Pick<BridgeSettings['kafka'], 'topicPrefix' | 'groupId'>,
  partitions: readonly TakenOver[],
  { signal, onRecords, onLettersForbidden }: ReadToldOptions,
): Promise<void> {
  const since = partitions.flatMap(({ toldUntilMs: ms }) => (ms === undefined ? [] : [ms]));
  const latest = { sinceMs: Math.min(...since), maxPerPartition: MAX_PER_PARTITION };
  const read = (topics: string[]): Promise<void> =>
    readSince(kafka, { ...latest, topics }, { groupIdPrefix: groupId, signal, onRecords });
  const outcomes = `${topicPrefix}${TOPICS.commandOutcomes}`;
  const letters = await letterTopics(kafka, topicPrefix, partitions);
  try {
    await read([outcomes, ...letters]);
  } catch (error) {
    if (letters.length === 0 || !isForbiddenTopic(error)) throw error;
    onLettersForbidden(error);
    await read([outcomes]);
  }
}

/** Without those that are not there: nothing is in them. */
async function letterTopics(
  kafka: KafkaClient,
  topicPrefix: string,
  partitions: readonly TakenOver[],
): Promise<string[]> {
  const inputs = INPUT_TOPICS.map((name) => `${topicPrefix}${name}`);
  // What is no input comes of orders.
  const orders = `${topicPrefix}${TOPICS.workOrders}`;
  const sources = partitions.map(({ topic }) => (inputs.includes(topic) ? topic : orders));
  const wanted = new Set(sources.map(deadLetterTopic));
  return (await topicNames(kafka)).filter((name) => wanted.has(name));
}
