import { Logger } from '@nestjs/common';
import { LogContinuity } from './log-continuity.js';
import { type PartitionQueue } from './partition-queue.js';
import { type Recalled } from './recalls.js';

export interface PartitionBacklog {
  topic: string;
  partition: number;
  /** Fetched and not yet final. */
  messages: number;
  /** In Kafka and not yet committed. */
  lag: number;
}

/** The queue of an owned partition, and what Kafka knows and tells of that partition. */
export class OwnedQueue {
  readonly log = new LogContinuity();
  private readonly logger = new Logger('Inbox');
  /** Where the first fetch has begun. */
  private firstFetched: number | undefined;
  /** Where it must begin, once that is known and until it has. */
  private beginsAt: number | undefined;
  /** The end of the partition when it was last read. */
  private highWatermark = 0;

  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly queue: PartitionQueue,
    /** Fetches from an offset on, again. */
    private readonly fetchFrom: (offset: number) => void,
  ) {}

  /** What earlier owners have left, for which the messages of a partition that has come here wait. */
  recall(left: Recalled | undefined): void {
    this.beginsAt = left?.begin;
    if (this.firstFetched !== undefined && this.skips(this.firstFetched)) {
      this.queue.progress.forgetFetched();
    }
    if (left !== undefined) this.queue.progress.inherit(left);
    this.queue.release('recall');
  }

  /**
   * Whether a fetch that begins there leaves out what is to be done first: it was under way when the partition came
   * here, asked for by this process as it had the partition before. What it leaves out is fetched, once: where it is no
   * more, the log itself begins later.
   */
  skips(first: number): boolean {
    this.firstFetched ??= first;
    const begin = this.beginsAt;
    this.beginsAt = undefined;
    if (begin === undefined || first <= begin || this.queue.ownership.isLost) return false;
    const { topic, partition } = this;
    this.logger.warn({
      msg: 'fetched again: a fetch left messages out',
      topic,
      partition,
      begin,
      first,
    });
    this.fetchFrom(begin);
    return true;
  }

  /** Whether a fetch that begins there holds other messages under old offsets. */
  isAnotherTopic(first: number, highWatermark: number): boolean {
    return this.log.isBrokenBy(first, highWatermark, this.queue.progress.fetchedEnd);
  }

  /**
   * @param first the offset of the first message, undefined without any
   * @param highWatermark the end of the partition, which may be lower than before
   */
  fetched(first: number | undefined, highWatermark: number): void {
    if (first !== undefined) this.log.fetched(first);
    this.highWatermark = highWatermark;
  }

  /** The end of the partition as Kafka was asked for it, perhaps before the latest fetch. */
  noteEnd(highWatermark: number): void {
    this.highWatermark = Math.max(this.highWatermark, highWatermark);
  }

  get backlog(): PartitionBacklog {
    const { topic, partition, highWatermark } = this;
    const { position, size: messages } = this.queue.progress;
    const lag = position === undefined ? 0 : Math.max(0, highWatermark - position);
    return { topic, partition, messages, lag };
  }
}
