import { Inject, Injectable, Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { type MachineInfo } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import { type KafkaClient, type OwnedState, partitionCount } from '#libs/messaging';
import { MachineDirectory, ReasonRefresh } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS, KAFKA, tightenHeapForMachines } from '../../platform/index.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { trackingTopic } from '../tracking-topic.js';
import { type MachineWatch } from './machine-watch.js';
import { PartitionWatch } from './partition-watch.js';
import { PollLoop } from './poll-loop.js';
import { WatchContext } from './watch-context.js';

const BACK_OFF = { baseMs: 200, capMs: 5000 };

/** The machines this process is responsible for: those of the partitions it owns. */
@Injectable()
export class OwnedMachines {
  private readonly logger = new Logger('MachineStates');
  private readonly partitions = new Set<PartitionWatch>();

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly directory: MachineDirectory,
    private readonly loop: PollLoop,
    private readonly context: WatchContext,
    private readonly reasons: ReasonRefresh,
  ) {}

  get watches(): MachineWatch[] {
    return [...this.partitions].flatMap(({ watches }) => watches);
  }

  find(machineId: string): MachineWatch | undefined {
    for (const partition of this.partitions) {
      const watch = partition.find(machineId);
      if (watch !== undefined) return watch;
    }
    return undefined;
  }

  /** Watches the partition's machines until `state.signal` aborts. */
  own(state: OwnedState<TrackedMachine>): void {
    void this.watch(state).catch((error: unknown) => {
      const { partition } = state;
      if (!state.signal.aborted) this.logger.error({ msg: 'not watched', partition, err: error });
    });
  }

  private async watch(state: OwnedState<TrackedMachine>): Promise<void> {
    const count = await this.countPartitions(state.signal);
    state.signal.throwIfAborted();
    const partition = new PartitionWatch(state, count, this.loop, this.context);
    this.partitions.add(partition);
    const follow = (machines: ReadonlyMap<string, MachineInfo>): void => {
      partition.follow(machines);
      tightenHeapForMachines(machines.size);
      for (const { machineId } of partition.watches) this.reasons.remind(machineId);
    };
    if (this.directory.status.loadedAt !== null) follow(this.directory.machines());
    const unsubscribe = this.directory.onRefresh(follow);
    const { partition: number } = state;
    const machines = partition.watches.length;
    this.logger.log({ msg: 'watching machines', partition: number, machines });
    const end = (): void => {
      unsubscribe();
      this.partitions.delete(partition);
      partition.end();
    };
    state.signal.addEventListener('abort', end, { once: true });
  }

  private async countPartitions(signal: AbortSignal): Promise<number> {
    const topic = trackingTopic(this.settings);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await partitionCount(this.kafka, topic);
      } catch (error) {
        this.logger.warn({ msg: 'partitions not known', topic, attempt, error: String(error) });
        await realDelayMs(backOffMs(attempt, BACK_OFF), signal);
      }
    }
  }
}
