import { Logger } from '@nestjs/common';
import { type TopicPartitionOffset } from '../kafkajs.js';
import { type ToldUntil } from './commit-note.js';
import { LogContinuity } from './log-continuity.js';
import { NotedTelling } from './noted-telling.js';
import { type PartitionQueue } from './partition-queue.js';
import { type TakenOver } from './taken-over.js';

export interface PartitionBacklog {
  topic: string;
  partition: number;
  /** Fetched and not yet final. */
  messages: number;
  /** In Kafka and not yet committed. */
  lag: number;
}

/** What is to be committed; `metadata` tells what has finished beyond the offset. */
export interface OffsetCommit extends TopicPartitionOffset {
  metadata: string;
  toldUntil: ToldUntil;
  /** To be called with what became of it: what was not committed is taken again. */
  settle: (committed: boolean) => void;
}

/** The queue of an owned partition, and what Kafka knows and tells of that partition. */
export class OwnedQueue {
  readonly log = new LogContinuity();
  private readonly logger = new Logger('Inbox');
  readonly telling: NotedTelling;
  /** What was last handed out for a commit; undefined when that failed. */
  private committing: string | undefined;
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
    /** Called when something is to be told for which there has to be a commit. */
    onCommitWanted: () => void,
    /** Fetches from an offset on, again. */
    private readonly fetchFrom: (offset: number) => void,
  ) {
    this.telling = new NotedTelling(queue.ownership.telling, onCommitWanted);
  }

  /**
   * What an earlier owner has left, for which the messages of a partition that has come here wait; undefined when
   * that is not known. Of no effect once the partition is lost, though it may have come back: then that is asked for
   * anew.
   */
  recall(left: Pick<TakenOver, 'finished' | 'toldUntilMs' | 'begin' | 'end'> | undefined): void {
    this.beginsAt = left?.begin;
    if (this.firstFetched !== undefined && this.skips(this.firstFetched)) {
      this.queue.progress.forgetFetched();
    }
    this.queue.progress.inherit(left?.finished);
    if (left?.toldUntilMs !== undefined) this.telling.inherit(left.toldUntilMs, left.end);
    this.queue.release('recall');
  }

  /** Hands over and tells again, the latter from the moment at which no commit says otherwise any more. */
  endRest(): void {
    this.telling.endRest();
    this.queue.release('rest');
  }

  /**
   * What to commit, and whether that says something new; undefined before anything was handed over.
   *
   * @param toldUntilMs epoch milliseconds up to which all of what was told the records have been acknowledged
   */
  takeCommit(toldUntilMs: number): { commit: OffsetCommit; isNew: boolean } | undefined {
    const { topic, partition, telling } = this;
    const { progress } = this.queue;
    const committable = progress.committable();
    // With nothing before it finished, the lowest is committed for what is told beside it.
    const offset = committable ?? progress.lowestUnfinished;
    if (offset === undefined) return undefined;
    const { metadata, isWhole } = progress.finishedAhead;
    const toldUntil = telling.toldUntil(offset, isWhole, toldUntilMs);
    const place = `${offset} ${metadata}`;
    const hasFinished = committable !== undefined || metadata !== '';
    const isNewPlace = hasFinished && place !== this.committing;
    if (hasFinished) this.committing = place;
    const isNew = telling.committing(toldUntil) || isNewPlace;
    const settle = (committed: boolean): void => {
      if (committed) {
        this.log.committed(offset);
        telling.committed(toldUntil);
      } else {
        this.committing = undefined;
        telling.notCommitted();
      }
    };
    const commit = { topic, partition, offset: String(offset), metadata, toldUntil, settle };
    return { commit, isNew };
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
