import { everyRealMs } from '#libs/clock';
import type { KafkaSettings } from '#libs/config';
import { INTERNAL_TOPICS } from '#libs/contracts';
import {
  createKafka,
  type KafkaClient,
  readSpans,
  type StoredRecord,
  type TopicSpan,
  topicSpans,
} from '#libs/kafka';
import { reachTopics } from '../command-line/kafka.js';
import { printStatus } from '../command-line/output.js';
import { type DeadLetter, readDeadLetter } from './dead-letter.js';
import type { TopicListing } from './dead-letter-topics.js';
import { ReplayMarks } from './replay-marks.js';
import { isSelected, offsetCount, selectedSpans, type Selection } from './selection.js';

const PROGRESS_MS = 5000;

interface LogReading {
  signal: AbortSignal;
  /** Dead letters of one partition, in order. */
  onBatch: (deadLetters: readonly DeadLetter[], marks: ReplayMarks) => Promise<void> | void;
  /** Appended to each line of progress. */
  progress?: () => string;
}

/** Reads dead letters and their replay marks, without any effect on the bridge's consumer group. */
export class DeadLetterLog {
  readonly kafka: KafkaClient;
  /** A compacted topic with a mark for each replayed dead letter. */
  readonly marksTopic: string;

  constructor(readonly settings: KafkaSettings) {
    this.kafka = createKafka(settings);
    this.marksTopic = settings.topicPrefix + INTERNAL_TOPICS.deadLetterReplays;
  }

  /**
   * All topics in Kafka: the first request of a command.
   *
   * @throws UnreachableError that says why Kafka cannot be reached
   */
  async listTopics(): Promise<TopicListing> {
    const { topicPrefix } = this.settings;
    return { topics: await reachTopics(this.kafka, this.settings), topicPrefix };
  }

  async spansOf(...topics: readonly string[]): Promise<TopicSpan[]> {
    return (await Promise.all(topics.map((topic) => topicSpans(this.kafka, topic)))).flat();
  }

  /** Reads the selected dead letters of these spans. */
  async readSelected(
    spans: readonly TopicSpan[],
    { selection, signal }: { selection: Selection; signal: AbortSignal },
    onDeadLetter: (deadLetter: DeadLetter) => void,
  ): Promise<void> {
    const onBatch = (deadLetters: readonly DeadLetter[]): void => {
      for (const one of deadLetters) if (isSelected(one, selection)) onDeadLetter(one);
    };
    await this.readWithMarks(selectedSpans(spans, selection), { signal, onBatch });
  }

  /** Reads all replay marks, then the dead letters of these spans. */
  async readWithMarks(spans: readonly TopicSpan[], reading: LogReading): Promise<void> {
    const total = offsetCount(spans);
    if (total === 0) return;
    const all = [...(await this.markSpans()), ...spans];
    const marks = new ReplayMarks();
    let count = 0;
    const onRecords = async (records: readonly StoredRecord[]): Promise<void> => {
      if (records[0]?.topic === this.marksTopic) {
        marks.applyMarks(records);
        return;
      }
      count += records.length;
      const deadLetters = records.map((one) => readDeadLetter(one, marks.replayedAt(one)));
      await reading.onBatch(deadLetters, marks);
    };
    const stopReporting = everyRealMs(PROGRESS_MS, () => {
      printStatus(`${count} of ${total} dead letters read${reading.progress?.() ?? ''}`);
    });
    try {
      const { signal } = reading;
      await readSpans(this.kafka, all, { signal, onRecords });
    } finally {
      stopReporting();
    }
  }

  private async markSpans(): Promise<TopicSpan[]> {
    const { topics } = await this.listTopics();
    return topics.includes(this.marksTopic) ? this.spansOf(this.marksTopic) : [];
  }
}
