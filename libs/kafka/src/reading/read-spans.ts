import { onAbort } from '#libs/clock';
import { fetchedRecords } from '#libs/kafkajs-patches';
import type { Batch, Consumer, KafkaClient } from '../client/kafka-port.js';
import { isMissingTopic } from '../client/protocol-error.js';
import { Completion, runReader, SilenceWatch } from './reader.js';
import { type RecordPlace, type StoredRecord, toStoredRecord } from './stored-record.js';
import { type TopicSpan, topicSpans } from './topics.js';

export interface ReadOptions {
  /** Ends the read early and without an error, after a call of `onRecords` in progress. */
  signal: AbortSignal;
  /** Receives at most 100 records of one partition, in order. Its exception ends the read. */
  onRecords: (records: readonly StoredRecord[]) => Promise<void> | void;
}

/**
 * Reads the committed records of spans, one span after the other. It joins no consumer group. Memory is bounded: the
 * next records are fetched when `onRecords` is done. Spans of one partition must be in the order of their offsets and
 * must not overlap.
 *
 * @throws the exception of onRecords, or an Error when Kafka is away or sends nothing more for 30 s
 */
export async function readSpans(
  kafka: KafkaClient,
  spans: readonly TopicSpan[],
  options: ReadOptions,
): Promise<void> {
  // reading an empty topic takes a right that may be missing
  const nonEmpty = spans.filter(({ from, until }) => from < until);
  if (nonEmpty.length > 0 && !options.signal.aborted)
    await new SpanReader(nonEmpty, options).readToEnd(kafka);
}

/**
 * Reads the records at places, none of them twice; undefined for records that their topic no longer holds. @throws
 * the signal's reason, or the error that keeps Kafka from answering
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

/** Spans of the topics that exist. */
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

/** Records handed over at a time: between them a read can be stopped, and shows progress. */
const MAX_RECORDS = 100;

class SpanReader {
  private readonly ending = new Completion();
  /** Next offset of the first remaining span. */
  private next: number;
  /** Whether `onRecords` is running: the end of the read waits for it. */
  private isDelivering = false;
  private readonly silence = new SilenceWatch(() => {
    const [span] = this.remaining;
    return `${span?.topic}, partition ${span?.partition}, offset ${this.next}`;
  });

  /** @param remaining spans that are not empty; removed once read */
  constructor(
    private readonly remaining: TopicSpan[],
    private readonly options: ReadOptions,
  ) {
    this.next = remaining[0]?.from ?? 0;
  }

  /** Resolves at the end of the last span, or when the signal has aborted. */
  async readToEnd(kafka: KafkaClient): Promise<void> {
    const end = (error?: Error): void => {
      if (!this.isDelivering) this.ending.complete(error);
    };
    const leave = onAbort(this.options.signal, end);
    const stopWatching = this.silence.startWatching(end);
    try {
      await runReader(kafka, {
        topics: [...new Set(this.remaining.map(({ topic }) => topic))],
        ending: this.ending,
        onAssigned: (consumer, assigned) => {
          consumer.pause(
            Object.entries(assigned).map(([topic, partitions]) => ({ topic, partitions })),
          );
          this.seekNextSpan(consumer);
        },
        onBatch: (consumer, batch) => this.deliverBatch(consumer, batch),
      });
    } finally {
      stopWatching();
      leave();
    }
  }

  private async deliverBatch(consumer: Consumer, batch: Batch): Promise<void> {
    const { topic, partition } = batch;
    let span: TopicSpan | undefined;
    // A batch may hold several spans of its partition.
    while (this.remaining[0] !== span && isOf(this.remaining[0], topic, partition)) {
      span = this.remaining[0];
      if (this.ending.isOver || !(await this.deliverSpan(consumer, batch))) return;
      // Counts markers after the last record, unless the span has ended with that.
      if (this.remaining[0] === span) this.advancePosition(consumer, Number(batch.lastOffset()));
    }
  }

  /** Hands over the current span's records; returns whether the read goes on. */
  private async deliverSpan(consumer: Consumer, batch: Batch): Promise<boolean> {
    const { topic, partition } = batch;
    const { until = 0 } = this.remaining[0] ?? {};
    const records = fetchedRecords(batch)
      .filter(({ position }) => position >= this.next && position < until)
      .map((record) => toStoredRecord(topic, partition, record));
    for (let start = 0; start < records.length; start += MAX_RECORDS) {
      const some = records.slice(start, start + MAX_RECORDS);
      if (!(await this.deliver(some))) return false;
      this.advancePosition(consumer, some.at(-1)?.offset ?? 0);
    }
    return true;
  }

  /** Returns whether the read goes on. An error must not reach kafkajs, which would retry. */
  private async deliver(records: readonly StoredRecord[]): Promise<boolean> {
    const { signal, onRecords } = this.options;
    this.isDelivering = true;
    try {
      await onRecords(records);
      if (signal.aborted) this.ending.complete();
    } catch (error) {
      this.ending.complete(error as Error);
    }
    this.isDelivering = false;
    return !this.ending.isOver;
  }

  /** Records of the current partition up to this offset have been read. */
  private advancePosition(consumer: Consumer, offset: number): void {
    this.silence.progressSeen();
    const [span] = this.remaining;
    if (span === undefined || offset < this.next) return;
    this.next = offset + 1;
    if (this.next < span.until) return;
    this.remaining.shift();
    this.next = this.remaining[0]?.from ?? 0;
    consumer.pause([{ topic: span.topic, partitions: [span.partition] }]);
    this.seekNextSpan(consumer);
  }

  private seekNextSpan(consumer: Consumer): void {
    const [span] = this.remaining;
    if (span === undefined) {
      this.ending.complete();
      return;
    }
    const { topic, partition } = span;
    consumer.seek({ topic, partition, offset: String(this.next) });
    consumer.resume([{ topic, partitions: [partition] }]);
  }
}

function isOf(span: TopicSpan | undefined, topic: string, partition: number): boolean {
  return span?.topic === topic && span.partition === partition;
}
