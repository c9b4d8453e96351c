import { type PollPlace, PollPlan } from './poll-plan.js';

/** What turns are given to. */
interface Updated {
  /** When the service last updated it, in epoch seconds; null while that is not known. */
  readonly updatedAt: number | null;
}

/** One for each machine as long as it is polled: there may be a hundred thousand of them. */
export interface PollTurn<T> {
  readonly polled: T;
  /** None while its update time is not known. */
  place: PollPlace | undefined;
  /** Milliseconds of the clock. */
  dueMs: number;
}

/** So many real polls a second are no burden, and no reason to spread machines. */
const EASY_POLLS_PER_SECOND = 50;
/** First turns are so many real milliseconds apart at most. */
const FIRST_TURNS_APART_MS = 5;
/** Whoever polled a machine until now may have missed its turn for so many real milliseconds. */
const HANDED_OVER_MS = 15_000;

/** Decides when each machine's turn comes. Pure: times are milliseconds of the clock handed in. */
export class PollTurns<T extends Updated> {
  private readonly plan: PollPlan;

  /** @param speed clock milliseconds a real one */
  constructor(
    private readonly intervalMs: number,
    private readonly speed: number,
  ) {
    const realIntervalSeconds = intervalMs / speed / 1000;
    const leastPerSlot = Math.ceil((EASY_POLLS_PER_SECOND * realIntervalSeconds) / 60);
    this.plan = new PollPlan(intervalMs, leastPerSlot);
  }

  /**
   * Those whose update times are known get their places, and catch up on a turn that has just been missed.
   * The others are polled soon, one after the other, to get to know them.
   */
  first(machines: readonly T[], nowMs: number): PollTurn<T>[] {
    const apartMs = Math.min(FIRST_TURNS_APART_MS * this.speed, this.intervalMs / machines.length);
    let soonMs = nowMs;
    return machines.map((polled) => {
      const place = this.placeOf(polled, undefined);
      if (place === undefined) return { polled, place, dueMs: (soonMs += apartMs) };
      return { polled, place, dueMs: this.plan.nextMs(place, nowMs - HANDED_OVER_MS * this.speed) };
    });
  }

  /** To its next, for one that is done, and whose machine is to be left alone until `restedMs`. */
  move(turn: PollTurn<T>, restedMs: number): void {
    const place = this.placeOf(turn.polled, turn.place);
    // Never twice in one turn, though a place may move, and a clock may be set back between due and done.
    const afterMs = Math.max(restedMs, turn.dueMs + this.intervalMs / 2);
    const nextMs =
      place === undefined ? turn.dueMs + this.intervalMs : this.plan.nextMs(place, afterMs);
    turn.place = place;
    turn.dueMs = Math.max(nextMs, afterMs);
  }

  /** Its machine is polled no more. */
  end({ place }: PollTurn<T>): void {
    if (place !== undefined) this.plan.leave(place);
  }

  /** A machine without an update time has no place yet; one whose updates have moved gets another. */
  private placeOf({ updatedAt }: T, place: PollPlace | undefined): PollPlace | undefined {
    if (updatedAt === null) return place;
    const updatedMs = updatedAt * 1000;
    if (place === undefined) return this.plan.take(updatedMs);
    if (this.plan.suits(place, updatedMs)) return place;
    this.plan.leave(place);
    return this.plan.take(updatedMs);
  }
}
