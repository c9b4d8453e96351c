import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Metric } from 'prom-client';
import type { MachineInfo } from '#libs/cloud-client';
import { INTERNAL_TOPICS, type MachineStateRecord } from '#libs/contracts';
import { scrapedGauge } from '#libs/http-api';
import { type KafkaClient, KeyedState, partitionOf, type TransactedState } from '#libs/kafka';
import { MachineDirectory, ReasonRefresh } from '../machine-directory/index.js';
import { KAFKA } from '../platform/index.js';
import { parseTrackedMachine } from './derivation/parse-tracked-machine.js';
import {
  mostUnreadPeriods,
  stateRecord,
  type TrackedMachine,
} from './derivation/tracked-machine.js';
import type { MachineWatch } from './polling/machine-watch.js';
import { PartitionWatch } from './polling/partition-watch.js';
import { PollLoop } from './polling/poll-loop.js';
import { WatchContext } from './polling/watch-context.js';

/** Machines of the partitions that this process owns, and what operators see of them. */
@Injectable()
export class MachineStates {
  /** Tracked machines, stored in Kafka. */
  readonly topic: KeyedState<TrackedMachine>;
  private readonly logger = new Logger('MachineStates');
  private readonly partitions = new Set<PartitionWatch>();
  private listed: ReadonlyMap<string, MachineInfo> | undefined;
  /** The machines of `listed` by partition. */
  private shares: MachineInfo[][] = [];

  constructor(
    private readonly directory: MachineDirectory,
    private readonly loop: PollLoop,
    private readonly context: WatchContext,
    private readonly reasons: ReasonRefresh,
    @Inject(KAFKA) kafka: KafkaClient,
  ) {
    const { topicPrefix, groupId } = context.settings.kafka;
    const name = `${topicPrefix}${INTERNAL_TOPICS.machineStates}`;
    this.topic = new KeyedState<TrackedMachine>({
      kafka,
      name,
      placement: { topic: name },
      groupId,
      parse: parseTrackedMachine,
      onOwned: (state) => this.watchPartition(state),
    });
  }

  get watches(): MachineWatch[] {
    return [...this.partitions].flatMap(({ watches }) => watches);
  }

  findWatch(machineId: string): MachineWatch | undefined {
    for (const partition of this.partitions) {
      const watch = partition.findWatch(machineId);
      if (watch !== undefined) return watch;
    }
    return undefined;
  }

  /** Watches the partition's machines until `state.signal` aborts. */
  watchPartition(state: TransactedState<TrackedMachine>): void {
    try {
      this.startPartitionWatch(state);
    } catch (error) {
      this.logger.error({ msg: 'not watched', partition: state.partition, err: error });
    }
  }

  private startPartitionWatch(state: TransactedState<TrackedMachine>): void {
    const { partition: number, partitions } = state;
    if (partitions === undefined) throw new Error('machines belong to a partition by their hash');
    const partition = new PartitionWatch(state, partitions, this.loop, this.context);
    this.partitions.add(partition);
    const follow = (machines: ReadonlyMap<string, MachineInfo>): void => {
      partition.followList(machines, this.shareOut(machines, partitions)[number] ?? []);
      this.context.mostUnreadPeriods = mostUnreadPeriods(machines.size);
      for (const { machineId } of partition.watches) this.reasons.queueIfStale(machineId);
    };
    if (this.directory.status.loadedAt !== null) follow(this.directory.machines());
    const unsubscribe = this.directory.onRefresh(follow);
    const machines = partition.watches.length;
    this.logger.log({ msg: 'watching machines', partition: number, machines });
    const end = (): void => {
      unsubscribe();
      this.partitions.delete(partition);
      partition.endWatches();
    };
    state.signal.addEventListener('abort', end, { once: true });
  }

  /** Hashed once for all partitions of a refresh: 50 times 100,000 machines took seconds. */
  private shareOut(listed: ReadonlyMap<string, MachineInfo>, partitions: number): MachineInfo[][] {
    if (listed === this.listed && partitions === this.shares.length) return this.shares;
    this.listed = listed;
    this.shares = Array.from({ length: partitions }, () => []);
    for (const info of listed.values()) {
      this.shares[partitionOf(info.machineId, partitions)]?.push(info);
    }
    return this.shares;
  }

  get metrics(): Metric[] {
    const { health, activityLog, metrics } = this.context;
    return [
      ...metrics.all,
      scrapedGauge(
        'machine_bridge_machines',
        'Machines of this process by observation',
        ['observation'],
        (it) => {
          for (const { observation = 'unknown' } of this.watches) it.inc({ observation });
        },
      ),
      scrapedGauge(
        'machine_bridge_failing_machines',
        'Machines of this process whose latest poll failed, by factory',
        ['factory'],
        (it) => {
          for (const { machineId, info } of this.watches) {
            it.inc({ factory: info.factoryId }, health.isFailing(machineId) ? 1 : 0);
          }
        },
      ),
      scrapedGauge(
        'machine_bridge_polls_paused',
        '1 while no poll is answered and only one now and then is made',
        () => (health.isPaused ? 1 : 0),
      ),
      scrapedGauge(
        'machine_bridge_activity_logs_behind',
        'Machines of this process whose activity log is refused, fails, or lags by more than it takes to settle',
        () => activityLog.behindMachines,
      ),
    ];
  }

  /** Machines that this process watches, also while no directory is loaded. */
  get watchedMachines(): MachineInfo[] {
    return this.watches.flatMap(({ hasEnded, info }) => (hasEnded ? [] : [info]));
  }

  /** Undefined for a machine that this process does not watch. */
  watchedMachine(machineId: string): MachineInfo | undefined {
    const watch = this.findWatch(machineId);
    return watch?.hasEnded === false ? watch.info : undefined;
  }

  /** Null for a machine that another process owns, that has no event yet, or that is removed. */
  recordOf(machineId: string): MachineStateRecord | null {
    const tracked = this.findWatch(machineId)?.tracked;
    return tracked === undefined ? null : stateRecord(tracked);
  }

  get lastError(): { why: string; at: number } | null {
    return this.context.health.lastError;
  }

  /** Number of machines that are due for a poll. */
  get waiting(): number {
    return this.loop.dueMachines;
  }

  /** Seconds of the clock since a poll was last answered; 0 while no machine is due. */
  get oldestWaitingSeconds(): number {
    const { clock, health } = this.context;
    return this.waiting === 0 ? 0 : Math.floor((clock.monotonicMs() - health.answeredMs) / 1000);
  }

  /** Why no machine is observed, as text; undefined while some are. */
  get pausedBecause(): string | undefined {
    const { health } = this.context;
    const watched = this.watches.length;
    if (watched > 0) {
      const allFail = health.failingMachines >= watched;
      return health.pausedBecause ?? (allFail ? (health.lastError?.why ?? '') : undefined);
    }
    const { loadedAt, problem } = this.directory.status;
    return loadedAt === null ? `no machine list: ${problem ?? ''}` : undefined;
  }
}
