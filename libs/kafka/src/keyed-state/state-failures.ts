import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { FailureRun } from '../failure-run.js';
import { type FailedWrite } from './owned-writes.js';
import { TopicGrownError } from './repartition.js';

const RESTORE_BACK_OFF = { baseMs: 200, capMs: 5000 };
/**
 * Each restore has the partition's machines polled that have just missed their turn, no more often than they should;
 * and one that fails for good reads all for nothing.
 */
const SLOW_BACK_OFF = { baseMs: 200, capMs: 30_000 };
/** What failed may have been given up, or come to nothing. */
const WRITES_WORK_AFTER_MS = 120_000;

/**
 * What goes wrong with a partition of keyed state: says so, and how long to wait before the next round. Restores and
 * writes are counted apart, for a partition that is restored may fail with every write.
 */
export class StateFailures {
  private readonly logger = new Logger('KeyedState');
  private readonly restoring = new FailureRun();
  private readonly writing = new FailureRun({ overAfterMs: WRITES_WORK_AFTER_MS });

  /** @param name of the topic, in full */
  constructor(
    private readonly name: string,
    private readonly partition: number,
  ) {}

  /** Why it can be neither read nor written for a while now, in words. */
  get problem(): string | undefined {
    const nowMs = realNowMs();
    const why = this.writing.problem(nowMs) ?? this.restoring.problem(nowMs);
    return why && `${this.name}, partition ${this.partition}: ${why}`;
  }

  restored(): void {
    this.restoring.succeeded();
  }

  written(topics: ReadonlySet<string>): void {
    this.writing.succeeded(topics);
  }

  /** Returns the real milliseconds to wait. */
  notRestored(error: unknown): number {
    const why = describeKafkaFailure(error, { right: 'Write', topics: [this.name] });
    const failures = this.restoring.failed(realNowMs(), why);
    this.warn('state not available', why, failures);
    return backOffMs(failures, error instanceof TopicGrownError ? SLOW_BACK_OFF : RESTORE_BACK_OFF);
  }

  /** Returns the real milliseconds to wait. */
  notWritten({ error, topics }: FailedWrite): number {
    const why = describeKafkaFailure(error, { right: 'Write', topics });
    const failures = this.writing.failed(realNowMs(), why, topics);
    this.warn('state not written', why, failures);
    return backOffMs(failures, SLOW_BACK_OFF);
  }

  private warn(msg: string, error: string, failures: number): void {
    const { name, partition } = this;
    this.logger.warn({ msg, name, partition, failures, error });
  }
}
