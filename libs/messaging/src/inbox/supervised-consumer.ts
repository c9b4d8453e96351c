import { Logger } from '@nestjs/common';
import {
  type Consumer,
  type EachBatchPayload,
  type Kafka,
  type TopicPartitionOffset,
} from 'kafkajs';
import { realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { withDeadline } from '../deadline.js';
import { coPartitionedAssigner } from './co-partitioned-assigner.js';

export type Assignment = ReadonlyMap<string, readonly number[]>;

export interface ConsumerCallbacks {
  onBatch: (payload: EachBatchPayload) => void;
  /** The partitions this process owns from now on, after each rebalance; empty after a crash. */
  onAssigned: (assignment: Assignment) => void;
}

export type ConsumerState = 'starting' | 'running' | 'broken' | 'stopped';

const SESSION_TIMEOUT_MS = 10_000;
const HEARTBEAT_INTERVAL_MS = 2000;
const RESTART_BACK_OFF = { baseMs: 500, capMs: 10_000 };
const DISCONNECT_DEADLINE_MS = 3000;

/**
 * A kafkajs consumer that is made anew whenever it crashes. kafkajs restarts itself only after the
 * errors it calls retriable; after any other it stays alive but deaf, so its own restart is off and
 * every crash is treated alike.
 */
export class SupervisedConsumer {
  private readonly logger = new Logger('Consumer');
  private readonly stopping = new AbortController();
  private consumer: Consumer | undefined;
  /** The consumer while it is a member of the group: before and after, kafkajs refuses to pause, seek or commit. */
  private joined: Consumer | undefined;
  private failures = 0;
  private lastHeartbeatMs = 0;
  private currentState: ConsumerState = 'starting';

  constructor(
    private readonly kafka: Kafka,
    private readonly options: { groupId: string; topics: readonly string[] },
    private readonly callbacks: ConsumerCallbacks,
  ) {}

  /** Running means: joined, and in touch with the group's coordinator within the session time-out. */
  get state(): ConsumerState {
    const silentMs = realNowMs() - this.lastHeartbeatMs;
    return this.currentState === 'running' && silentMs > SESSION_TIMEOUT_MS
      ? 'broken'
      : this.currentState;
  }

  /** Resolves at once; joining goes on for as long as it takes. */
  start(): void {
    void this.supervise();
  }

  pause(topic: string, partition: number): void {
    this.joined?.pause([{ topic, partitions: [partition] }]);
  }

  resume(topic: string, partition: number): void {
    this.joined?.resume([{ topic, partitions: [partition] }]);
  }

  seek(topic: string, partition: number, offset: number): void {
    this.joined?.seek({ topic, partition, offset: String(offset) });
  }

  /** @throws what kafkajs throws when the commit fails; the next commit covers it */
  async commit(offsets: TopicPartitionOffset[]): Promise<void> {
    await this.joined?.commitOffsets(offsets);
  }

  async stop(): Promise<void> {
    this.currentState = 'stopped';
    this.stopping.abort(new Error('the consumer is stopping'));
    await this.dispose();
  }

  private async supervise(): Promise<void> {
    while (!this.isStopping()) {
      try {
        const crash = await this.run();
        this.logger.error({ msg: 'consumer crashed, starting anew', error: crash.message });
      } catch (error) {
        if (this.isStopping()) return;
        this.logger.warn({ msg: 'Kafka cannot be reached, trying again', error: String(error) });
      }
      if (this.isStopping()) return;
      this.currentState = 'broken';
      this.callbacks.onAssigned(new Map());
      await this.dispose();
      this.failures += 1;
      await realDelayMs(backOffMs(this.failures, RESTART_BACK_OFF), this.stopping.signal).catch(
        () => undefined,
      );
    }
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Connects and consumes; resolves with the error when the consumer crashes. */
  private async run(): Promise<Error> {
    const consumer = this.createConsumer();
    this.consumer = consumer;
    const crashed = new Promise<Error>((resolve) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        this.joined = undefined;
        resolve(payload.error);
      });
    });
    this.listen(consumer);
    await consumer.connect();
    await consumer.subscribe({ topics: [...this.options.topics], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      partitionsConsumedConcurrently: 8,
      eachBatch: (payload) => {
        this.callbacks.onBatch(payload);
        return Promise.resolve();
      },
    });
    return crashed;
  }

  private createConsumer(): Consumer {
    return this.kafka.consumer({
      groupId: this.options.groupId,
      partitionAssigners: [coPartitionedAssigner],
      sessionTimeout: SESSION_TIMEOUT_MS,
      rebalanceTimeout: 15_000,
      heartbeatInterval: HEARTBEAT_INTERVAL_MS,
      maxWaitTimeInMs: 250,
      metadataMaxAge: 60_000,
      allowAutoTopicCreation: false,
      retry: { retries: 5, restartOnFailure: () => Promise.resolve(false) },
    });
  }

  private listen(consumer: Consumer): void {
    const { GROUP_JOIN, HEARTBEAT } = consumer.events;
    consumer.on(HEARTBEAT, () => {
      this.lastHeartbeatMs = realNowMs();
    });
    consumer.on(GROUP_JOIN, ({ payload }) => {
      if (consumer !== this.consumer || this.stopping.signal.aborted) return;
      this.lastHeartbeatMs = realNowMs();
      this.currentState = 'running';
      this.joined = consumer;
      this.failures = 0;
      this.callbacks.onAssigned(new Map(Object.entries(payload.memberAssignment)));
    });
  }

  /** disconnect() waits without a limit when the broker is gone. */
  private async dispose(): Promise<void> {
    const consumer = this.consumer;
    this.consumer = undefined;
    this.joined = undefined;
    await withDeadline(consumer?.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}
