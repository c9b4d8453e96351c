import { type MachineInfo } from '#libs/cloud-client';
import { type OwnedState, partitionOf } from '#libs/messaging';
import { namesOf, type TrackedMachine } from '../derivation/tracked-machine.js';
import { StatePublisher } from '../publication/state-publisher.js';
import { type StoredMachines } from './machine-memory.js';
import { MachineWatch } from './machine-watch.js';
import { type PollLoop } from './poll-loop.js';
import { type WatchContext } from './watch-context.js';

/** The machines of one owned partition, from the moment it is restored until it is lost. */
export class PartitionWatch {
  private readonly machines = new Map<string, MachineWatch>();
  private readonly stored: StoredMachines;

  constructor(
    private readonly state: OwnedState<TrackedMachine>,
    private readonly partitions: number,
    private readonly loop: PollLoop,
    private readonly context: WatchContext,
  ) {
    const publisher = new StatePublisher(state, context.settings.kafka.topicPrefix);
    this.stored = {
      get: (machineId) => state.get(machineId),
      publish: (derivation) => publisher.publish(derivation),
    };
    // Remembered machines are polled even while the directory cannot be read.
    const remembered = [...state.entries()].filter(([, it]) => it.observation !== 'removed');
    this.loop.addAll(remembered.map(([, tracked]) => this.watch(namesOf(tracked))));
  }

  find(machineId: string): MachineWatch | undefined {
    return this.machines.get(machineId);
  }

  get watches(): MachineWatch[] {
    return [...this.machines.values()];
  }

  /** Brings the watches into line with a list of all machines. */
  follow(listed: ReadonlyMap<string, MachineInfo>): void {
    for (const [machineId, watch] of this.machines) {
      if (watch.hasEnded) this.machines.delete(machineId);
      else if (!listed.has(machineId)) watch.miss();
    }
    const fresh: MachineWatch[] = [];
    for (const info of listed.values()) {
      if (partitionOf(info.machineId, this.partitions) !== this.state.partition) continue;
      const watch = this.machines.get(info.machineId);
      if (watch === undefined) fresh.push(this.watch(info));
      else watch.describe(info);
    }
    this.loop.addAll(fresh);
  }

  end(): void {
    for (const watch of this.machines.values()) watch.end();
    this.machines.clear();
  }

  private watch(info: MachineInfo): MachineWatch {
    const watch = new MachineWatch(info, this.stored, this.context, this.state.signal);
    this.machines.set(info.machineId, watch);
    return watch;
  }
}
