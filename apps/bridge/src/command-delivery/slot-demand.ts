import { type CallSlots } from '#libs/delivery';

export interface Demand {
  /** Whether something is ready to be sent. */
  isWanted: () => boolean;
  /**
   * A slot is there: whatever is ready shares the call, or gives the slot back.
   *
   * @param calls that are to share what is ready, as far as there are slots at once; this is the first of them
   */
  begin: (calls: number) => void;
  /** Slots are asked for as far as they are wanted by now. */
  whenAsked: () => void;
}

/** Asks for slots on behalf of one flow, one at a time: those that share a call need only one. */
export class SlotDemand {
  private isAsking = false;
  private isAsked = false;

  constructor(
    private readonly slots: CallSlots,
    private readonly demand: Demand,
  ) {}

  /** A slot has been asked for, and is yet to come. */
  get isOutstanding(): boolean {
    return this.isAsked;
  }

  ask(calls = 1): void {
    // A slot that is free is given at once: the loop asks for the next, rather than each slot's taker.
    if (this.isAsking) return;
    this.isAsking = true;
    let callsLeft = calls;
    try {
      while (!this.isAsked && this.demand.isWanted()) {
        this.isAsked = true;
        this.slots.ask(() => {
          this.isAsked = false;
          this.demand.begin(callsLeft);
          callsLeft = Math.max(1, callsLeft - 1);
          this.ask();
        });
      }
    } finally {
      // A slot that comes later is for all that has gathered by then.
      callsLeft = 1;
      this.isAsking = false;
    }
    this.demand.whenAsked();
  }
}
