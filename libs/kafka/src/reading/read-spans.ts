import { withDeadline } from '#libs/clock';
import { fetchedRecords } from '#libs/kafkajs-patches';
import type { Consumer, EachBatchPayload, KafkaClient } from '../client/kafka-port.js';
import { isMissingTopic } from '../client/protocol-error.js';
import { Completion, SilenceWatch } from './completion.js';
import { createReader } from './reader.js';
import { type RecordPlace, type StoredRecord, toStoredRecord } from './stored-record.js';
import { latestSpans, type TopicSpan, topicSpans } from './topics.js';

export interface ReadOptions {
  /** Ends the read early and without an error; a call of onRecords under way is waited for. */
  signal: AbortSignal;
  /** Takes records of one partition, in order, at most 100. What it throws ends the read. */
  onRecords: (records: readonly StoredRecord[]) => Promise<void> | void;
}

const CLEAN_UP_DEADLINE_MS = 3000;

/**
 * Reads spans to their ends, one after the other, committed records alone, and disturbs nobody: it joins no consumer
 * group. Memory stays bounded: the next records are fetched when `onRecords` is done with these. Spans
 * of one partition must come in the order of their offsets and not overlap.
 *
 * @throws what onRecords throws, or an Error when Kafka is away or sends nothing more for 30 s
 */
export async function readSpans(
  kafka: KafkaClient,
  spans: readonly TopicSpan[],
  options: ReadOptions,
): Promise<void> {
  const cursor = new SpanCursor(spans);
  if (cursor.current === undefined || options.signal.aborted) return;
  const consumer = createReader(kafka);
  try {
    const topics = [...new Set(spans.map(({ topic }) => topic))];
    await new SpanReader(consumer, cursor, options).read(topics);
  } finally {
    await withDeadline(consumer.disconnect(), CLEAN_UP_DEADLINE_MS);
  }
}

export interface LatestRecords {
  /** Full names, prefix included; one after the other. */
  topics: readonly string[];
  /** Epoch milliseconds; records with an earlier timestamp are left out. */
  sinceMs: number;
  /** The latest so many of each partition, however many there are since. */
  maxPerPartition: number;
}

/**
 * Reads what has been written to topics since then, as {@link readSpans} does.
 *
 * @throws what onRecords throws, or what keeps Kafka from answering
 */
export async function readSince(
  kafka: KafkaClient,
  { topics, ...latest }: LatestRecords,
  options: ReadOptions,
): Promise<void> {
  const spans = await Promise.all(topics.map((topic) => latestSpans(kafka, topic, latest)));
  await readSpans(kafka, spans.flat(), options);
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

/** Handed over at a time, so that a read can be stopped, and gives a sign of life, between them. */
const MAX_RECORDS = 100;
const START_DEADLINE_MS = 5000;

/** Takes one kafkajs consumer through the spans of a cursor. */
class SpanReader {
  private readonly ending = new Completion();
  /** Records are with `onRecords`, which may take long: the end of the read waits for it. */
  private isDelivering = false;
  private readonly silence = new SilenceWatch(() => {
    const { current, position } = this.cursor;
    return `${current?.topic}, partition ${current?.partition}, offset ${position}`;
  });

  constructor(
    private readonly consumer: Consumer,
    private readonly cursor: SpanCursor,
    private readonly options: ReadOptions,
  ) {}

  /** Resolves at the end of the last span, or when the signal has aborted. */
  async read(topics: string[]): Promise<void> {
    const { signal } = this.options;
    const onAbort = (): void => {
      if (!this.isDelivering) this.ending.end();
    };
    signal.addEventListener('abort', onAbort);
    const stopWatching = this.silence.start((error) => {
      if (!this.isDelivering) this.ending.end(error);
    });
    const starting = this.start(topics).catch((error: unknown) => {
      this.ending.end(error as Error);
    });
    try {
      await this.ending.reached;
    } finally {
      stopWatching();
      signal.removeEventListener('abort', onAbort);
      // A consumer that is disconnected while it joins goes on joining, and is left behind.
      await withDeadline(starting, START_DEADLINE_MS);
    }
  }

  private async start(topics: string[]): Promise<void> {
    this.listen();
    await this.consumer.connect();
    await this.consumer.subscribe({ topics, fromBeginning: true });
    if (this.ending.isOver) return;
    await this.consumer.run({ autoCommit: false, eachBatch: (payload) => this.onBatch(payload) });
  }

  private listen(): void {
    const { CRASH, GROUP_JOIN, END_BATCH_PROCESS } = this.consumer.events;
    this.consumer.on(CRASH, ({ payload }) => {
      this.ending.end(payload.error);
    });
    this.consumer.on(GROUP_JOIN, ({ payload }) => {
      // A member that joins, or joins again after it was thought dead, starts from the beginning of everything.
      const assigned = Object.entries(payload.memberAssignment);
      this.consumer.pause(assigned.map(([topic, partitions]) => ({ topic, partitions })));
      this.goOn();
    });
    this.consumer.on(END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, batchSize, lastOffset } = payload;
      // Transaction markers, aborted records and what compaction has taken: not shown to eachBatch.
      if (batchSize === 0 && this.cursor.isAt(topic, partition)) this.pass(Number(lastOffset));
    });
  }

  private async onBatch(payload: EachBatchPayload): Promise<void> {
    const { topic, partition } = payload.batch;
    let span: TopicSpan | undefined;
    // A batch may hold what several spans of its partition are for.
    while (this.cursor.current !== span && this.cursor.isAt(topic, partition)) {
      span = this.cursor.current;
      if (this.ending.isOver || !(await this.takeWanted(payload))) return;
      // Markers behind the last record, unless the span has ended with it.
      if (this.cursor.current === span) this.pass(Number(payload.batch.lastOffset()));
    }
  }

  /** Hands over what the current span is for; returns whether the read goes on. */
  private async takeWanted(payload: EachBatchPayload): Promise<boolean> {
    const { topic, partition } = payload.batch;
    const records = fetchedRecords(payload.batch)
      .filter(({ position }) => this.cursor.wants(position))
      .map((record) => toStoredRecord(topic, partition, record));
    for (let start = 0; start < records.length; start += MAX_RECORDS) {
      const some = records.slice(start, start + MAX_RECORDS);
      if (!(await this.deliver(some))) return false;
      this.pass(some.at(-1)?.offset ?? 0);
      await payload.heartbeat();
    }
    return true;
  }

  /** Returns whether the read goes on. An error must not reach kafkajs, which would try again. */
  private async deliver(records: readonly StoredRecord[]): Promise<boolean> {
    const { signal, onRecords } = this.options;
    this.isDelivering = true;
    try {
      await onRecords(records);
      if (signal.aborted) this.ending.end();
    } catch (error) {
      this.ending.end(error as Error);
    }
    this.isDelivering = false;
    return !this.ending.isOver;
  }

  private pass(offset: number): void {
    const { current } = this.cursor;
    this.silence.progressSeen();
    if (!this.cursor.pass(offset) || current === undefined) return;
    this.consumer.pause([{ topic: current.topic, partitions: [current.partition] }]);
    this.goOn();
  }

  private goOn(): void {
    const { current, position } = this.cursor;
    if (current === undefined) {
      this.ending.end();
      return;
    }
    const { topic, partition } = current;
    this.consumer.seek({ topic, partition, offset: String(position) });
    this.consumer.resume([{ topic, partitions: [partition] }]);
  }
}

/** How far a read has come through spans that are read one after the other. */
export class SpanCursor {
  private readonly waiting: TopicSpan[];
  private span: TopicSpan | undefined;
  private next = 0;

  /** Spans of one partition come in the order of their offsets and do not overlap; empty ones are passed over. */
  constructor(spans: readonly TopicSpan[]) {
    this.waiting = [...spans];
    this.openNext();
  }

  /** The span that is being read; undefined at the end of the last one. */
  get current(): TopicSpan | undefined {
    return this.span;
  }

  /** The next offset to read in the current span. */
  get position(): number {
    return this.next;
  }

  isAt(topic: string, partition: number): boolean {
    return this.span?.topic === topic && this.span.partition === partition;
  }

  /** Whether the record at this offset of the current partition belongs to what is still to be read. */
  wants(offset: number): boolean {
    return this.span !== undefined && offset >= this.next && offset < this.span.until;
  }

  /** All of the current partition up to this offset has been read. Returns whether its span ends with it. */
  pass(offset: number): boolean {
    if (this.span === undefined || offset < this.next) return false;
    this.next = offset + 1;
    if (this.next < this.span.until) return false;
    this.openNext();
    return true;
  }

  private openNext(): void {
    this.span = this.waiting.shift();
    while (this.span !== undefined && this.span.from >= this.span.until) {
      this.span = this.waiting.shift();
    }
    this.next = this.span?.from ?? 0;
  }
}
