import { type KafkaClient } from '../client/kafka-port.js';
import { isMissingTopic } from '../client/protocol-error.js';
import { type ReadOptions, readSpans } from './read-spans.js';
import { type StoredRecord } from './stored-record.js';
import { type TopicSpan, topicSpans } from './topic-span.js';

/** Where a record lies. */
export interface RecordPlace {
  /** Full name, prefix included. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/**
 * Reads records where they lie, in one read of spans. Answers in the order of the places; undefined for
 * what its topic no longer holds, or whose topic is gone. No place may be given twice.
 *
 * @throws the signal's reason when it aborts before, or what keeps Kafka from answering
 */
export async function readRecords(
  kafka: KafkaClient,
  places: readonly RecordPlace[],
  options: Omit<ReadOptions, 'onRecords'>,
): Promise<(StoredRecord | undefined)[]> {
  const spans = await spansOf(kafka, new Set(places.map(({ topic }) => topic)));
  options.signal.throwIfAborted();
  const held = places
    .filter((place) => spans.some((span) => holds(span, place)))
    .sort((a, b) => a.offset - b.offset);
  const found: StoredRecord[] = [];
  await readSpans(
    kafka,
    held.map(({ topic, partition, offset }) => ({
      ...{ topic, partition, from: offset, until: offset + 1 },
    })),
    {
      ...options,
      onRecords: (records) => {
        found.push(...records);
      },
    },
  );
  options.signal.throwIfAborted();
  return places.map((place) => found.find((record) => liesAt(record, place)));
}

/** What the topics hold; nothing of those that are gone. */
async function spansOf(kafka: KafkaClient, topics: ReadonlySet<string>): Promise<TopicSpan[]> {
  const spans: TopicSpan[] = [];
  for (const topic of topics) {
    try {
      spans.push(...(await topicSpans(kafka, topic)));
    } catch (error) {
      if (!isMissingTopic(error)) throw error;
    }
  }
  return spans;
}

function holds({ topic, partition, from, until }: TopicSpan, place: RecordPlace): boolean {
  const { offset } = place;
  return topic === place.topic && partition === place.partition && offset >= from && offset < until;
}

function liesAt({ topic, partition, offset }: RecordPlace, place: RecordPlace): boolean {
  return topic === place.topic && partition === place.partition && offset === place.offset;
}
