import { type MachineInfo } from '#libs/cloud-client';
import { type OwnedState, partitionOf } from '#libs/messaging';
import { namesOf, type TrackedMachine } from '../derivation/tracked-machine.js';
import { StatePublisher } from '../publication/state-publisher.js';
import { type StoredMachines } from './machine-memory.js';
import { MachineWatch } from './machine-watch.js';
import { type PollLoop } from './poll-loop.js';
import { type WatchContext } from './watch-context.js';

interface Watched {
  watch: MachineWatch;
  /** Epoch seconds of the first list in a row that did not name it; null when the latest did. */
  missedAt: number | null;
}

/** The machines of one owned partition, from the moment it is restored until it is lost. */
export class PartitionWatch {
  private readonly machines = new Map<string, Watched>();
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
    this.loop.addAll(remembered.map(([, tracked]) => this.watch(namesOf(tracked)).watch));
  }

  find(machineId: string): MachineWatch | undefined {
    return this.machines.get(machineId)?.watch;
  }

  get watches(): MachineWatch[] {
    return [...this.machines.values()].map(({ watch }) => watch);
  }

  /** Brings the watches into line with a list of all machines. */
  follow(listed: ReadonlyMap<string, MachineInfo>): void {
    for (const [machineId, watched] of this.machines) {
      if (watched.watch.hasEnded) this.machines.delete(machineId);
      else if (!listed.has(machineId)) this.miss(watched);
    }
    const fresh: MachineWatch[] = [];
    for (const info of listed.values()) {
      if (partitionOf(info.machineId, this.partitions) !== this.state.partition) continue;
      const watched = this.machines.get(info.machineId);
      if (watched === undefined) fresh.push(this.watch(info).watch);
      else {
        watched.watch.describe(info);
        watched.missedAt = null;
      }
    }
    this.loop.addAll(fresh);
  }

  end(): void {
    for (const { watch } of this.machines.values()) watch.end();
    this.machines.clear();
  }

  private watch(info: MachineInfo): Watched {
    const watch = new MachineWatch(info, this.stored, this.context, this.state.signal);
    const watched = { watch, missedAt: null };
    this.machines.set(info.machineId, watched);
    return watched;
  }

  /**
   * A list may miss a machine once by mistake; it is gone when another one does, not before the next is
   * due: a command for a machine that is not listed has the list read at any time.
   */
  private miss(watched: Watched): void {
    const { clock, settings } = this.context;
    const now = clock.nowSeconds();
    watched.missedAt ??= now;
    if (now - watched.missedAt >= settings.directoryRefreshSeconds) watched.watch.leave();
  }
}
