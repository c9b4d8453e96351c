import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, realDelayMs, realNowMs } from '#libs/clock';
import type { TerminalSettings } from '#libs/config';
import { TOPIC_DEFINITIONS, TOPICS } from '#libs/contracts';
import { ApiError, type HealthCondition, type HealthConditions } from '#libs/http-api';
import {
  describeKafkaFailure,
  ensureTopics,
  type FollowedTopic,
  type FollowState,
  followTopics,
  type KafkaClient,
  MissingTopicsError,
  type StoredRecord,
  type TopicSpecification,
} from '#libs/kafka';
import type { Link } from '../api/index.js';
import { Plant } from '../plant/index.js';
import { KAFKA, TERMINAL_SETTINGS } from '../platform/tokens.js';

/** Compacted: the latest record of each key is all that is needed. */
const KEYED = [TOPICS.registry, TOPICS.states, TOPICS.classificationReasons];
const BY_TIME = [
  TOPICS.stateChanges,
  TOPICS.commandOutcomes,
  TOPICS.downtimeReasons,
  TOPICS.downtimeNotes,
];
/** Records read of a partition; two shifts of ten thousand machines that change every ten minutes have fewer. */
const MAX_PER_PARTITION = 200_000;
/** A record is written after the event it describes; how far its writer's clock may be behind. */
const MARGIN_SECONDS = 300;
const TRY_AGAIN_AFTER_MS = 1000;
export const RETRY_AFTER_SECONDS = 3;

/** Reads the topics into {@link Plant}, from two shifts ago, and reports whether Kafka answers. */
@Injectable()
export class PlantFeed implements HealthConditions, OnApplicationShutdown {
  link: Omit<Link, 'knownUntil'>;
  /** All records that the topics held at the start have been read. */
  isRestored = false;
  /** Duration of that reading, real milliseconds. */
  restoredAfterMs: number | undefined;
  private readonly logger = new Logger('PlantFeed');
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    @Inject(TERMINAL_SETTINGS) private readonly settings: TerminalSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly clock: Clock,
    private readonly plant: Plant,
  ) {
    this.link = { state: 'restoring', since: clock.nowSeconds(), problem: null };
  }

  /** Reads until the shutdown. @throws MissingTopicsError when topics are missing and may not be created */
  async startReading(): Promise<void> {
    const startMs = realNowMs();
    const { signal } = this.stopping;
    await this.prepareTopics();
    if (signal.aborted) return;
    this.running = followTopics(this.kafka, this.followedTopics(), {
      signal,
      onRecords: (records) => {
        for (const record of records) this.applyOrSkip(record);
      },
      onState: (state, problem) => {
        if (state === 'up' && !this.isRestored) this.noteRestored(realNowMs() - startMs);
        this.setLink(state, problem);
      },
    });
  }

  /** @throws ApiError 503 until then: a partial answer would look complete */
  assertRestored(): void {
    if (this.isRestored) return;
    const message = 'the terminal is still reading its topics';
    throw new ApiError(503, 'restoring', message, RETRY_AFTER_SECONDS);
  }

  conditions(): HealthCondition[] {
    const { state, problem } = this.link;
    const why = problem ?? 'what the topics hold is being read';
    return [{ name: 'kafka', problem: state === 'up' ? undefined : why }];
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort(new Error('the terminal is stopping'));
    await this.running;
  }

  /** A record that the plant cannot apply must not stop those behind it. */
  private applyOrSkip(record: StoredRecord): void {
    try {
      this.plant.applyRecord(record);
    } catch (err) {
      const { topic, partition, offset } = record;
      this.logger.error({ msg: 'a record is passed over', topic, partition, offset, err });
    }
  }

  private followedTopics(): FollowedTopic[] {
    const { topicPrefix } = this.settings.kafka;
    const from = { sinceMs: this.sinceMs(), maxPerPartition: MAX_PER_PARTITION };
    return [
      ...KEYED.map((name): FollowedTopic => ({ topic: topicPrefix + name, from: 'beginning' })),
      ...BY_TIME.map((name): FollowedTopic => ({ topic: topicPrefix + name, from })),
    ];
  }

  /** 0 with an accelerated clock: record time stamps are real time, which plant time does not follow. */
  private sinceMs(): number {
    if (this.clock.speed !== 1) return 0;
    const { startTime } = this.plant.window(this.clock.nowSeconds());
    return (startTime - MARGIN_SECONDS) * 1000;
  }

  /** Retries until Kafka answers: the terminal may be started before the bridge, and before Kafka. */
  private async prepareTopics(): Promise<void> {
    const { createTopics: create, topicPartitions: partitions } = this.settings.kafka;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await ensureTopics(this.kafka, this.neededTopics(), { create, partitions });
        return;
      } catch (error) {
        if (error instanceof MissingTopicsError) throw error;
        this.setLink('down', describeKafkaFailure(error));
        await realDelayMs(TRY_AGAIN_AFTER_MS, signal).catch(() => undefined);
      }
    }
  }

  private neededTopics(): TopicSpecification[] {
    return [...KEYED, ...BY_TIME].map((name) => {
      const definition = TOPIC_DEFINITIONS.find((topic) => topic.name === name);
      const cleanupPolicy = definition?.cleanupPolicy ?? 'delete';
      return { name: this.settings.kafka.topicPrefix + name, cleanupPolicy };
    });
  }

  private noteRestored(afterMs: number): void {
    this.isRestored = true;
    this.restoredAfterMs = Math.round(afterMs);
    const { size: machines } = this.plant.machines;
    this.logger.log({ msg: 'restored', machines, afterMs: this.restoredAfterMs });
  }

  private setLink(state: FollowState, problem: string | null): void {
    if (state === this.link.state && problem === this.link.problem) return;
    const isNew = state !== this.link.state;
    const since = isNew ? this.clock.nowSeconds() : this.link.since;
    this.link = { state, since, problem };
    if (isNew && state === 'down') this.logger.warn({ msg: 'Kafka is away', error: problem });
    if (isNew && state === 'up') this.logger.log({ msg: 'Kafka is there' });
  }
}
