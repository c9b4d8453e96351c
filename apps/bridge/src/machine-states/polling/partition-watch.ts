import type { MachineInfo } from '#libs/cloud-client';
import { partitionOf, type TransactedState } from '#libs/kafka';
import { namesOf, newlyTracked, type TrackedMachine } from '../derivation/tracked-machine.js';
import { StatePublisher } from '../publication/state-publisher.js';
import { MachineWatch, type StoredMachines } from './machine-watch.js';
import type { PollLoop } from './poll-loop.js';
import type { WatchContext } from './watch-context.js';

/** Begins the key of a partition's own record; ids of machines contain no control characters. */
const SEEN_UNTIL = '\u0000seen-until-';

/**
 * Key of the partition's own record, which hashes into the partition. The record has an update time that every observed
 * machine of the partition had reached.
 */
function seenUntilKey(partition: number, partitions: number): string {
  for (let attempt = 0; ; attempt += 1) {
    const key = `${SEEN_UNTIL}${attempt}`;
    if (partitionOf(key, partitions) === partition) return key;
  }
}

/** After this silence one machine is published, so that subscribers can tell a quiet plant from a dead bridge. */
const SILENT_SECONDS = 60;

/** The machines of one owned partition, from the moment it is restored until it is lost. */
export class PartitionWatch {
  private readonly machines = new Map<string, MachineWatch>();
  private readonly stored: StoredMachines;

  constructor(
    private readonly state: TransactedState<TrackedMachine>,
    private readonly partitions: number,
    private readonly loop: PollLoop,
    private readonly context: WatchContext,
  ) {
    const { settings, frames } = context;
    const publisher = new StatePublisher(state, settings.kafka.topicPrefix, frames);
    const seenUntil = state.get(seenUntilKey(state.partition, partitions))?.lastUpdateTime ?? null;
    let publishedUntil = seenUntil ?? 0;
    this.stored = {
      get: (machineId) => asSeenUntil(state.get(machineId), seenUntil),
      isOverdue: (lastUpdateTime) => (lastUpdateTime ?? 0) >= publishedUntil + SILENT_SECONDS,
      publishDerivation: (derivation, trace) => {
        publishedUntil = Math.max(publishedUntil, derivation.next.lastUpdateTime ?? 0);
        return publisher.publishDerivation(derivation, trace);
      },
    };
    // Remembered machines are polled even while the directory cannot be read.
    const remembered = [...state.entries()].filter(
      ([key, it]) => it.observation !== 'removed' && !key.startsWith(SEEN_UNTIL),
    );
    this.loop.addMachines(remembered.map(([, tracked]) => this.addWatch(namesOf(tracked))));
    // Ends with the partition. A write that fails, like any other write of its state, loses the partition.
    void this.keepSeenUntil().catch(() => undefined);
  }

  findWatch(machineId: string): MachineWatch | undefined {
    return this.machines.get(machineId);
  }

  get watches(): MachineWatch[] {
    return [...this.machines.values()];
  }

  /** Starts and updates watches by the list of machines; `mine` are those of this partition. */
  followList(listed: ReadonlyMap<string, MachineInfo>, mine: readonly MachineInfo[]): void {
    for (const [machineId, watch] of this.machines) {
      if (watch.hasEnded) this.machines.delete(machineId);
      else if (!listed.has(machineId)) watch.recordUnlisted();
    }
    const fresh: MachineWatch[] = [];
    for (const info of mine) {
      const watch = this.machines.get(info.machineId);
      if (watch === undefined) fresh.push(this.addWatch(info));
      else watch.updateInfo(info);
    }
    this.loop.addMachines(fresh);
  }

  endWatches(): void {
    for (const watch of this.machines.values()) watch.endWatch();
    this.machines.clear();
  }

  /**
   * Stores, once in `STALE_AFTER_SECONDS`, an update time that all observed machines have reached. The update time
   * alone of a machine is not stored, and a loss during a restart would begin when the machine last changed.
   */
  private async keepSeenUntil(): Promise<void> {
    const { clock, settings } = this.context;
    const key = seenUntilKey(this.state.partition, this.partitions);
    const names = { machineId: key, displayName: '', factoryId: '', factoryName: '' };
    for (let written = 0; ;) {
      await clock.sleepSeconds(settings.polling.staleAfterSeconds, this.state.signal);
      const lastUpdateTime = this.seenUntil();
      if (lastUpdateTime <= written) continue;
      await this.state.commit([[key, { ...newlyTracked(names), lastUpdateTime }]], []);
      written = lastUpdateTime;
    }
  }

  /** Latest update time that all observed machines have reached, in epoch seconds; 0 if none is observed. */
  private seenUntil(): number {
    let earliest = Infinity;
    for (const { observation, updatedAt } of this.machines.values()) {
      if (observation === 'ok' && updatedAt !== null) earliest = Math.min(earliest, updatedAt);
    }
    return earliest === Infinity ? 0 : earliest;
  }

  private addWatch(info: MachineInfo): MachineWatch {
    const watch = new MachineWatch(info, this.stored, this.context, this.state.signal);
    this.machines.set(info.machineId, watch);
    return watch;
  }
}

/**
 * Raises the update time of an observed machine to `seenUntil`: if it had been lost, its record would say so. While
 * `lostSince` is set, the process died before it published the periods missed in a loss.
 */
export function asSeenUntil(
  tracked: TrackedMachine | undefined,
  seenUntil: number | null,
): TrackedMachine | undefined {
  if (tracked?.observation !== 'ok' || tracked.lostSince !== null) return tracked;
  const { lastUpdateTime } = tracked;
  if (lastUpdateTime === null || seenUntil === null) return tracked;
  return { ...tracked, lastUpdateTime: Math.max(lastUpdateTime, seenUntil) };
}
