import { everyRealMs, onAbort, realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { fetchedRecords } from '#libs/kafkajs-patches';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { Batch, Consumer, KafkaClient } from '../client/kafka-port.js';
import { isMissingTopic, missingTopicsOf } from '../client/protocol-error.js';
import { Completion, runReader } from './reader.js';
import { partitionName, type StoredRecord, toStoredRecord } from './stored-record.js';
import { latestSpans, topicSpans } from './topics.js';

/** A topic and the start of its reading. */
export interface FollowedTopic {
  topic: string;
  /** Its first record, or the latest of each partition, none older than `sinceMs` (epoch milliseconds). */
  from: 'beginning' | { sinceMs: number; maxPerPartition: number };
}

/** `restoring`: existing records are being read. `up`: new records are handed over as they come. `down`: no answer. */
export type FollowState = 'restoring' | 'up' | 'down';

export interface FollowOptions {
  signal: AbortSignal;
  /**
   * Receives records of one partition, in order and once. They are repeated from the start of the reading if a broker
   * has said that the topic is missing, or the partition has become shorter. Must not throw.
   */
  onRecords: (records: readonly StoredRecord[]) => void;
  onState: (state: FollowState, problem: string | null) => void;
  /** All records of a partition before `next` have been handed over. Must not throw. */
  onPosition?: (topic: string, partition: number, next: number) => void;
}

/** While Kafka answers, a fetch takes 250 ms at most. */
const DOWN_AFTER_MS = 3000;
const GIVE_UP_AFTER_MS = 20_000;
const CHECK_MS = 500;
const BACK_OFF = { baseMs: 200, capMs: 3000 };

/**
 * Reads topics from their starts and follows them, committed records alone, until the signal aborts; after a failure
 * it continues after the last record handed over. It commits no offsets and joins no consumer group.
 */
export async function followTopics(
  kafka: KafkaClient,
  topics: readonly FollowedTopic[],
  options: FollowOptions,
): Promise<void> {
  const { signal, onState } = options;
  const positions = new Map<string, number>();
  let failures = 0;
  while (!signal.aborted) {
    const reading = new FollowAttempt(kafka, topics, positions, options, failures > 0);
    const why = await reading.follow();
    if (why === undefined) return;
    failures = reading.hasCaughtUp ? 1 : failures + 1;
    onState('down', why);
    await realDelayMs(backOffMs(failures, BACK_OFF), signal).catch(() => undefined);
  }
}

/** One consumer, from its start to its end. */
class FollowAttempt {
  hasCaughtUp = false;
  /** Number of fetches by broker: only a fetch shows whether all topics may be read. */
  private readonly fetches = new Map<number, number>();
  private readonly ending = new Completion();
  /** End offsets of partitions that had something to read when this attempt began. */
  private readonly targets = new Map<string, number>();
  private state: FollowState = 'restoring';
  private lastSignMs = realNowMs();

  constructor(
    private readonly kafka: KafkaClient,
    private readonly topics: readonly FollowedTopic[],
    /** Next offset by partition; shared by all attempts. */
    private readonly positions: Map<string, number>,
    private readonly options: FollowOptions,
    private readonly hasFailedBefore: boolean,
  ) {}

  /** Resolves with a description of the failure that ended it; undefined when the signal did. */
  async follow(): Promise<string | undefined> {
    const { signal } = this.options;
    const topics = this.topics.map(({ topic }) => topic);
    const leave = onAbort(signal, () => this.ending.complete());
    let stopWatching: (() => void) | undefined;
    try {
      await this.findPlaces();
      if (signal.aborted) return undefined;
      this.setState('restoring', null);
      stopWatching = this.watchSilence();
      await runReader(this.kafka, {
        ...{ topics, ending: this.ending },
        onAssigned: (consumer, assignment) => this.seekAll(consumer, assignment),
        onFetch: (nodeId) => this.fetchAnswered(nodeId),
        onBatch: (_, batch) => this.handOverBatch(batch),
      });
      return undefined;
    } catch (error) {
      const missing = missingTopicsOf(error);
      for (const topic of missing) this.forgetPositions(topic);
      // kafkajs reports the error of the first topic that has one.
      const isForThem = missing.length > 0 && isMissingTopic(error);
      const suspects = isForThem ? missing : topics;
      return describeKafkaFailure(error, { right: 'Read', topics: suspects });
    } finally {
      stopWatching?.();
      leave();
    }
  }

  private async findPlaces(): Promise<void> {
    const spans = await Promise.all(
      this.topics.map(({ topic, from }) =>
        from === 'beginning' ? topicSpans(this.kafka, topic) : latestSpans(this.kafka, topic, from),
      ),
    );
    this.targets.clear();
    for (const { topic, partition, from, until } of spans.flat()) {
      const key = partitionName(topic, partition);
      const known = this.positions.get(key);
      // A recreated topic ends before the position in the former one.
      const position = known === undefined || known > until ? from : Math.max(known, from);
      this.positions.set(key, position);
      this.options.onPosition?.(topic, partition, position);
      if (position < until) this.targets.set(key, until);
    }
  }

  /**
   * A later topic of that name may be another one, and longer by then. It may also be the same one, unknown to a
   * broker that has just started: better to read all of it again than to miss the beginning of another one.
   */
  private forgetPositions(topic: string): void {
    for (const key of this.positions.keys()) {
      if (key.startsWith(`${topic}/`)) this.positions.delete(key);
    }
  }

  /** A partition without a position has been added since: it is read from its beginning. */
  private seekAll(consumer: Consumer, assignment: Readonly<Record<string, number[]>>): void {
    for (const [topic, partitions] of Object.entries(assignment)) {
      for (const partition of partitions) {
        const position = this.positions.get(partitionName(topic, partition));
        if (position !== undefined) consumer.seek({ topic, partition, offset: String(position) });
      }
    }
    this.answerSeen();
  }

  private fetchAnswered(nodeId: number): void {
    this.fetches.set(nodeId, (this.fetches.get(nodeId) ?? 0) + 1);
    this.answerSeen();
    this.checkCaughtUp();
  }

  private handOverBatch(batch: Batch): void {
    const { topic, partition } = batch;
    const key = partitionName(topic, partition);
    const fetched = fetchedRecords(batch);
    const [first] = fetched;
    // A topic that is recreated or truncated between two fetches ends before the known position: kafkajs goes back to
    // its beginning, and it may be longer by then.
    const hasGoneBack = first !== undefined && first.position < (this.positions.get(key) ?? 0);
    // A new leader of the partition may know an earlier end for a moment: it sends no records beyond it.
    const isShort =
      first !== undefined && Number(batch.highWatermark) < (this.targets.get(key) ?? 0);
    if (hasGoneBack) this.positions.delete(key);
    if (hasGoneBack || isShort) {
      this.ending.complete(
        new Error(`${topic}/${partition} was created anew, or has lost its end`),
      );
      return;
    }
    const records = fetched.map((record) => toStoredRecord(topic, partition, record));
    if (this.ending.isOver) return;
    if (records.length > 0) this.options.onRecords(records);
    this.advancePosition(topic, partition, Number(batch.lastOffset()) + 1);
  }

  private advancePosition(topic: string, partition: number, next: number): void {
    this.answerSeen();
    const key = partitionName(topic, partition);
    if (next <= (this.positions.get(key) ?? 0)) return;
    this.positions.set(key, next);
    this.options.onPosition?.(topic, partition, next);
    const target = this.targets.get(key);
    if (target === undefined || next < target) return;
    this.targets.delete(key);
    this.checkCaughtUp();
  }

  private checkCaughtUp(): void {
    // If one broker refuses its fetch, each of the others still answers one before the consumer ends.
    const enough = this.hasFailedBefore ? 2 : 1;
    if (this.targets.size > 0 || Math.max(0, ...this.fetches.values()) < enough) return;
    this.hasCaughtUp = true;
    this.setState('up', null);
  }

  private answerSeen(): void {
    this.lastSignMs = realNowMs();
    if (this.state === 'down') this.setState(this.hasCaughtUp ? 'up' : 'restoring', null);
  }

  private watchSilence(): () => void {
    this.answerSeen();
    let checkedMs = realNowMs();
    return everyRealMs(CHECK_MS, () => {
      if (this.ending.isOver) return;
      // A suspended process has not received Kafka's answers.
      const nowMs = realNowMs();
      const lateMs = nowMs - checkedMs - CHECK_MS;
      checkedMs = nowMs;
      // Answers that waited in the socket may have been read before.
      if (lateMs > CHECK_MS) this.lastSignMs = Math.min(nowMs, this.lastSignMs + lateMs);
      const silentMs = nowMs - this.lastSignMs;
      const problem = `Kafka has not answered for ${Math.round(silentMs / 1000)} s`;
      if (silentMs > GIVE_UP_AFTER_MS) this.ending.complete(new Error(problem));
      else if (silentMs > DOWN_AFTER_MS && this.hasCaughtUp) this.setState('down', problem);
    });
  }

  private setState(state: FollowState, problem: string | null): void {
    if (this.state === state && state !== 'restoring') return;
    this.state = state;
    this.options.onState(state, problem);
  }
}
