import { everyRealMs } from '#libs/clock';
import { type KafkaSettings } from '#libs/config';
import {
  createKafka,
  type KafkaClient,
  readSpans,
  type StoredRecord,
  type TopicSpan,
  topicSpans,
} from '#libs/kafka';
import { reachTopics } from '../command-line/command-kafka.js';
import { note } from '../command-line/terminal.js';
import { type TopicListing } from './dead-letter-topics.js';
import { lengthOf } from './letter-selection.js';
import { REPLAYS_TOPIC, ReplayMarks } from './replay-marks.js';
import { type StoredLetter, toStoredLetter } from './stored-letter.js';

const PROGRESS_MS = 5000;

export interface LogReading {
  /** Ends the reading early. */
  signal: AbortSignal;
  /** Takes some letters of one partition, in order. */
  onLetters: (letters: readonly StoredLetter[], marks: ReplayMarks) => Promise<void> | void;
  /** What is to be said of a reading that takes long, beside how far it is. */
  progress?: () => string;
}

/** The dead letters in Kafka, read without disturbing anybody, each with what has become of it. */
export class DeadLetterLog {
  readonly kafka: KafkaClient;
  readonly marksTopic: string;

  constructor(private readonly settings: KafkaSettings) {
    this.kafka = createKafka(settings);
    this.marksTopic = `${settings.topicPrefix}${REPLAYS_TOPIC}`;
  }

  /**
   * The topics there are: the first thing a command asks.
   *
   * @throws Error that says Kafka is not there
   */
  async topics(): Promise<TopicListing> {
    const { topicPrefix } = this.settings;
    return { topics: await reachTopics(this.kafka, this.settings), topicPrefix };
  }

  async spans(...topics: readonly string[]): Promise<TopicSpan[]> {
    return (await Promise.all(topics.map((topic) => topicSpans(this.kafka, topic)))).flat();
  }

  /** Reads the marks of what has been replayed, and then the letters of these spans. */
  async read(spans: readonly TopicSpan[], reading: LogReading): Promise<void> {
    const total = lengthOf(spans);
    if (total === 0) return;
    // What holds nothing is not even subscribed to: to read it takes a right that may be missing.
    const all = [...(await this.markSpans()), ...spans.filter((span) => lengthOf([span]) > 0)];
    const marks = new ReplayMarks();
    let count = 0;
    const onRecords = async (records: readonly StoredRecord[]): Promise<void> => {
      if (records[0]?.topic === this.marksTopic) {
        marks.accept(records);
        return;
      }
      count += records.length;
      const letters = records.map((one) => toStoredLetter(one, marks.replayedAt(one)));
      await reading.onLetters(letters, marks);
    };
    const stopReporting = everyRealMs(PROGRESS_MS, () => {
      note(`${count} of ${total} dead letters read${reading.progress?.() ?? ''}`);
    });
    try {
      const { groupId } = this.settings;
      await readSpans(this.kafka, all, {
        groupIdPrefix: groupId,
        signal: reading.signal,
        onRecords,
      });
    } finally {
      stopReporting();
    }
  }

  private async markSpans(): Promise<TopicSpan[]> {
    const { topics } = await this.topics();
    return topics.includes(this.marksTopic) ? this.spans(this.marksTopic) : [];
  }
}
