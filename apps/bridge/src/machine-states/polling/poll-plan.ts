/** A machine's place in the interval. */
export interface PollPlace {
  /** The slot right after the machine's own update; it is polled in this one or the next with room. */
  wantedSlot: number;
  slot: number;
  /** When in the interval, in milliseconds from its beginning. */
  phaseMs: number;
}

const SLOTS = 60;
/** An update that comes a little earlier or later than the last one is no reason to move. */
const TOLERATED_SLOTS = 2;
/** No slot takes more than this many times its even share. */
const CROWDING = 1.2;

/**
 * Where in the interval each machine is polled: right after its own update, so that what is read is as
 * new as it can be; and where many are updated at the same time, in the moments after that, so that
 * they do not all come at once. Pure: times are milliseconds of the clock handed in.
 */
export class PollPlan {
  private readonly taken = new Uint32Array(SLOTS);
  private readonly slotMs: number;
  private machines = 0;

  /** @param leastPerSlot so many in one slot are no crowd, however few machines there are */
  constructor(
    private readonly intervalMs: number,
    private readonly leastPerSlot: number,
  ) {
    this.slotMs = intervalMs / SLOTS;
  }

  /** A place after an update at `updatedMs`. */
  take(updatedMs: number): PollPlace {
    const wantedSlot = this.slotAfter(updatedMs);
    this.machines += 1;
    const slot = this.firstWithRoom(wantedSlot);
    const order = this.taken[slot] ?? 0;
    this.taken[slot] = order + 1;
    const withinSlot = ((order % this.perSlot) / this.perSlot) * this.slotMs;
    return { wantedSlot, slot, phaseMs: Math.floor(slot * this.slotMs + withinSlot) };
  }

  leave({ slot }: PollPlace): void {
    this.machines -= 1;
    this.taken[slot] = (this.taken[slot] ?? 1) - 1;
  }

  /** Whether a machine that has been updated at `updatedMs` is still well placed. */
  suits({ wantedSlot }: PollPlace, updatedMs: number): boolean {
    const apart = Math.abs(this.slotAfter(updatedMs) - wantedSlot);
    return Math.min(apart, SLOTS - apart) <= TOLERATED_SLOTS;
  }

  /** The first moment at this place after `afterMs`. */
  nextMs({ phaseMs }: PollPlace, afterMs: number): number {
    const intervals = Math.floor((afterMs - phaseMs) / this.intervalMs) + 1;
    return phaseMs + intervals * this.intervalMs;
  }

  private get perSlot(): number {
    return Math.max(this.leastPerSlot, Math.ceil((this.machines / SLOTS) * CROWDING));
  }

  /** The one after the one the update falls into: the service needs a moment to show it. */
  private slotAfter(updatedMs: number): number {
    return (Math.floor((updatedMs % this.intervalMs) / this.slotMs) + 1) % SLOTS;
  }

  private firstWithRoom(wanted: number): number {
    const most = this.perSlot;
    for (let after = 0; after < SLOTS; after += 1) {
      const slot = (wanted + after) % SLOTS;
      if ((this.taken[slot] ?? 0) < most) return slot;
    }
    return wanted;
  }
}
