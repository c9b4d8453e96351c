import { ANY_COMPANY } from './company.js';
import { Lane } from './lane.js';

/** Machines with nothing to send that are remembered for what their last calls were like. */
const MAX_IDLE_SUSPECTS = 10_000;

/** The lanes of machines that have something to send, and of some that had when their last calls went wrong. */
export class KnownLanes<T> {
  private readonly lanes = new Map<string, Lane<T>>();
  private readonly idleSuspects = new Set<string>();

  /** Machines with an entry waiting or under way. */
  get busy(): number {
    return this.lanes.size - this.idleSuspects.size;
  }

  all(): Lane<T>[] {
    return [...this.lanes.values()];
  }

  get(machineId: string): Lane<T> | undefined {
    return this.lanes.get(machineId);
  }

  /** The lane of a machine that has something to send. */
  open(machineId: string): Lane<T> {
    const known = this.lanes.get(machineId);
    if (known !== undefined) {
      if (known.company !== ANY_COMPANY) this.idleSuspects.delete(machineId);
      return known;
    }
    const lane = new Lane<T>(machineId);
    this.lanes.set(machineId, lane);
    return lane;
  }

  /** It has nothing to send, and nothing under way. */
  close(lane: Lane<T>): void {
    lane.notBeforeMs = 0;
    if (lane.company === ANY_COMPANY) this.lanes.delete(lane.machineId);
    else this.remember(lane.machineId);
  }

  /** What went wrong was none of theirs. */
  forgive(): void {
    for (const lane of this.lanes.values()) lane.company = ANY_COMPANY;
    for (const machineId of this.idleSuspects) this.lanes.delete(machineId);
    this.idleSuspects.clear();
  }

  /** As the youngest; messages may name machines without end that only the service knows to be none. */
  private remember(machineId: string): void {
    this.idleSuspects.delete(machineId);
    this.idleSuspects.add(machineId);
    if (this.idleSuspects.size <= MAX_IDLE_SUSPECTS) return;
    const [oldest] = this.idleSuspects;
    if (oldest === undefined) return;
    this.idleSuspects.delete(oldest);
    this.lanes.delete(oldest);
  }
}
