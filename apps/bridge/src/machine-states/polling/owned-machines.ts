import { Injectable, Logger } from '@nestjs/common';
import type { MachineInfo } from '#libs/cloud-client';
import { type TransactedState, partitionOf } from '#libs/kafka';
import { MachineDirectory, ReasonRefresh } from '../../machine-directory/index.js';
import { mostUnreadPeriods, type TrackedMachine } from '../derivation/tracked-machine.js';
import type { MachineWatch } from './machine-watch.js';
import { PartitionWatch } from './partition-watch.js';
import { PollLoop } from './poll-loop.js';
import { WatchContext } from './watch-context.js';

/** The machines this process is responsible for: those of the partitions it owns. */
@Injectable()
export class OwnedMachines {
  private readonly logger = new Logger('MachineStates');
  private readonly partitions = new Set<PartitionWatch>();
  private readonly shares = new PartitionShares();

  constructor(
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
  own(state: TransactedState<TrackedMachine>): void {
    try {
      this.watch(state);
    } catch (error) {
      this.logger.error({ msg: 'not watched', partition: state.partition, err: error });
    }
  }

  private watch(state: TransactedState<TrackedMachine>): void {
    const { partition: number, partitions } = state;
    if (partitions === undefined) throw new Error('machines belong to a partition by their hash');
    const partition = new PartitionWatch(state, partitions, this.loop, this.context);
    this.partitions.add(partition);
    const follow = (machines: ReadonlyMap<string, MachineInfo>): void => {
      partition.follow(machines, this.shares.of(machines, partitions)[number] ?? []);
      this.context.mostUnreadPeriods = mostUnreadPeriods(machines.size);
      for (const { machineId } of partition.watches) this.reasons.remind(machineId);
    };
    if (this.directory.status.loadedAt !== null) follow(this.directory.machines());
    const unsubscribe = this.directory.onRefresh(follow);
    const machines = partition.watches.length;
    this.logger.log({ msg: 'watching machines', partition: number, machines });
    const end = (): void => {
      unsubscribe();
      this.partitions.delete(partition);
      partition.end();
    };
    state.signal.addEventListener('abort', end, { once: true });
  }
}

/**
 * A list of machines shared out to partitions. All partitions follow the same list in the same tick: it is hashed
 * once, not by each of them, which for 100,000 machines and 50 partitions took the event loop for seconds.
 */
export class PartitionShares {
  private listed: ReadonlyMap<string, MachineInfo> | undefined;
  private shares: MachineInfo[][] = [];

  /** The machines of each partition; the list is not to be changed any more. */
  of(listed: ReadonlyMap<string, MachineInfo>, partitions: number): readonly MachineInfo[][] {
    if (listed === this.listed && partitions === this.shares.length) return this.shares;
    const shares = Array.from({ length: partitions }, (): MachineInfo[] => []);
    for (const info of listed.values()) shares[partitionOf(info.machineId, partitions)]?.push(info);
    this.listed = listed;
    this.shares = shares;
    return shares;
  }
}
