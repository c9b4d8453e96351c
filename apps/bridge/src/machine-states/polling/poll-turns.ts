import { DueQueue } from '#libs/delivery';

interface Updated {
  /** When the service last updated it, in epoch seconds; null while that is not known. */
  readonly updatedAt: number | null;
}

/** The turns of one polled machine. There may be a hundred thousand of them. */
export interface PollTurn<T> {
  readonly polled: T;
  /** Undefined before the first poll of a machine whose update time is unknown. */
  place: PollPlace | undefined;
  /** In monotonic milliseconds of the clock. */
  dueMs: number;
  /** When its series of failed polls began; undefined while they are answered. */
  failingSinceMs: number | undefined;
}

/** Real polls per second up to which machines need not be spread. */
const EASY_POLLS_PER_SECOND = 50;
/** Maximum distance between first turns, in real milliseconds. */
const FIRST_TURNS_APART_MS = 5;
/** A turn that the previous owner may have missed for this long is made up; real milliseconds. */
const HANDED_OVER_MS = 15_000;
/** A lost machine rests this many times as long as its failed poll took: it then takes a twentieth of a slot. */
const REST_PER_FAILURE = 18;
/** Maximum rest: a lost machine is polled in every fourth interval at least. */
const MOST_INTERVALS_OF_REST = 3;

/**
 * Schedules the turns of machines. Pure: turns are in monotonic milliseconds of the clock, so that setting the wall
 * clock moves none of them. A machine's place in the interval is by the wall clock, and `wallAheadMs` is wall clock
 * minus monotonic clock.
 */
export class PollTurns<T extends Updated> {
  private readonly plan: PollPlan;

  /** @param speed clock milliseconds per real millisecond */
  constructor(
    private readonly intervalMs: number,
    private readonly staleAfterMs: number,
    private readonly speed: number,
    private readonly random: () => number = Math.random,
  ) {
    const realIntervalSeconds = intervalMs / speed / 1000;
    const leastPerSlot = Math.ceil((EASY_POLLS_PER_SECOND * realIntervalSeconds) / 60);
    this.plan = new PollPlan(intervalMs, leastPerSlot);
  }

  /**
   * First turns. Machines with known update times get their places and make up a turn that has just been missed. The
   * others are polled soon, one after the other, to learn their update times. The order is random: the directory
   * lists machines of one factory together, and they may fail together.
   */
  firstTurns(machines: readonly T[], nowMs: number, wallAheadMs: number): PollTurn<T>[] {
    const apartMs = Math.min(FIRST_TURNS_APART_MS * this.speed, this.intervalMs / machines.length);
    let soonMs = nowMs;
    return this.shuffled(machines).map((polled) => {
      const place = this.placeOf(polled, undefined);
      const dueMs =
        place === undefined
          ? (soonMs += apartMs)
          : this.nextTurnMs(place, nowMs - HANDED_OVER_MS * this.speed, wallAheadMs);
      return { polled, place, dueMs, failingSinceMs: undefined };
    });
  }

  /** Moves a finished turn to the machine's next one, not before `restedMs`. */
  moveToNext(turn: PollTurn<T>, restedMs: number, wallAheadMs: number): void {
    // A machine that was not answered gets a random place: first polls are close together, and a rate limit (429)
    // would refuse most of the same machines every time.
    const place =
      this.placeOf(turn.polled, turn.place) ?? this.plan.takePlace(this.random() * this.intervalMs);
    // Never two polls in one interval, even if the place moves.
    const afterMs = Math.max(restedMs, turn.dueMs + this.intervalMs / 2);
    turn.place = place;
    turn.dueMs = Math.max(this.nextTurnMs(place, afterMs, wallAheadMs), afterMs);
  }

  /** Milliseconds that a machine rests after a failed poll; 0 until it is lost. */
  restAfterFailureMs(turn: PollTurn<T>, nowMs: number, tookMs: number): number {
    turn.failingSinceMs ??= nowMs;
    if (nowMs - turn.failingSinceMs <= this.staleAfterMs) return 0;
    return Math.min(tookMs * REST_PER_FAILURE, MOST_INTERVALS_OF_REST * this.intervalMs);
  }

  endTurns({ place }: PollTurn<T>): void {
    if (place !== undefined) this.plan.leavePlace(place);
  }

  private nextTurnMs(place: PollPlace, afterMs: number, wallAheadMs: number): number {
    return this.plan.nextTimeMs(place, afterMs + wallAheadMs) - wallAheadMs;
  }

  /** The machine's place, a new one if its updates have moved; undefined before any update time is known. */
  private placeOf({ updatedAt }: T, place: PollPlace | undefined): PollPlace | undefined {
    if (updatedAt === null) return place;
    const updatedMs = updatedAt * 1000;
    if (place === undefined) return this.plan.takePlace(updatedMs);
    if (this.plan.isWellPlaced(place, updatedMs)) return place;
    this.plan.leavePlace(place);
    return this.plan.takePlace(updatedMs);
  }

  private shuffled(machines: readonly T[]): T[] {
    const all: T[] = [];
    for (const machine of machines) {
      const other = Math.floor(this.random() * (all.length + 1));
      all.push(all[other] ?? machine);
      all[other] = machine;
    }
    return all;
  }
}

/** Maximum share of the slots for failing machines. */
const FAILING_SHARE = 1 / 4;

/**
 * Queue of the turns, for a bounded number of slots. A turn is either queued or under way.
 *
 * Machines that answer come first. Those whose latest poll failed share a quarter of the slots, since a poll that
 * hangs takes one for `MACHINE_CLOUD_TIMEOUT_MS`: at the default, 400 hanging machines would take all 64. Among
 * these, machines that are not lost yet come first.
 *
 * Turns passed over while polls are paused are kept apart: each comes up once an interval, may probe, and is due as
 * soon as the service answers. Pure: times are monotonic milliseconds of the clock.
 */
export class PollQueue<T> {
  private readonly answering = new DueQueue<PollTurn<T>>();
  private readonly failing = new DueQueue<PollTurn<T>>();
  private readonly lost = new DueQueue<PollTurn<T>>();
  private readonly passedOver = new DueQueue<PollTurn<T>>();
  private readonly maxFailing: number;
  private underWay = 0;
  private failingUnderWay = 0;

  /** @param staleAfterMs how long a machine may go unanswered before it is lost */
  constructor(
    private readonly slots: number,
    private readonly staleAfterMs: number,
  ) {
    this.maxFailing = Math.max(1, Math.floor(slots * FAILING_SHARE));
  }

  get hasPassedOver(): boolean {
    return this.passedOver.size > 0;
  }

  /** Number of turns that are due or were passed over. */
  countWaiting(nowMs: number): number {
    return [this.answering, this.failing, this.lost].reduce(
      (sum, queue) => sum + queue.countDue(nowMs),
      this.passedOver.size,
    );
  }

  addTurn(turn: PollTurn<T>): void {
    this.queueOf(turn).addItem(turn.dueMs, turn);
  }

  /** Keeps a turn that was due while polls are paused; it comes up again at `lookMs`. */
  passOver(turn: PollTurn<T>, lookMs: number): void {
    this.passedOver.addItem(lookMs, turn);
  }

  /** Makes turns that were passed over due again, in their original order, once the service answers. */
  requeuePassedOver(): void {
    for (;;) {
      const turn = this.passedOver.takeEarliest();
      if (turn === undefined) return;
      this.addTurn(turn);
    }
  }

  /** Takes a due turn into a slot until {@link releaseSlot}; with `mayProbe`, also a passed-over one before its time. */
  takeTurn(nowMs: number, mayProbe: boolean): PollTurn<T> | undefined {
    const queue = this.openQueues().find(({ earliestMs }) => earliestMs <= nowMs);
    const turn = queue?.takeEarliest() ?? this.takePassedOver(nowMs, mayProbe);
    if (turn === undefined) return undefined;
    this.underWay += 1;
    if (isFailing(turn)) this.failingUnderWay += 1;
    return turn;
  }

  /** Frees the turn's slot. To be called before `failingSinceMs` changes. */
  releaseSlot(turn: PollTurn<T>): void {
    this.underWay -= 1;
    if (isFailing(turn)) this.failingUnderWay -= 1;
  }

  /** When {@link takeTurn} has the next turn, unless a slot is freed or a turn added before. */
  get nextMs(): number {
    const { earliestMs: lookMs } = this.passedOver;
    if (this.underWay >= this.slots) return Infinity;
    return Math.min(lookMs, ...this.openQueues().map(({ earliestMs }) => earliestMs));
  }

  private takePassedOver(nowMs: number, mayProbe: boolean): PollTurn<T> | undefined {
    const { earliestMs } = this.passedOver;
    const isFree = this.underWay < this.slots;
    return isFree && (mayProbe || earliestMs <= nowMs) ? this.passedOver.takeEarliest() : undefined;
  }

  private openQueues(): DueQueue<PollTurn<T>>[] {
    if (this.underWay >= this.slots) return [];
    if (this.failingUnderWay >= this.maxFailing) return [this.answering];
    return [this.answering, this.failing, this.lost];
  }

  private queueOf({ failingSinceMs, dueMs }: PollTurn<T>): DueQueue<PollTurn<T>> {
    if (failingSinceMs === undefined) return this.answering;
    return dueMs - failingSinceMs <= this.staleAfterMs ? this.failing : this.lost;
  }
}

function isFailing({ failingSinceMs }: PollTurn<unknown>): boolean {
  return failingSinceMs !== undefined;
}

export interface PollPlace {
  /** The slot right after the machine's own update; the machine gets it or the next one with room. */
  wantedSlot: number;
  slot: number;
  /** Milliseconds from the beginning of the interval. */
  phaseMs: number;
}

const SLOTS = 60;
/** Slots by which an update may come earlier or later before the machine moves. */
const TOLERATED_SLOTS = 2;
/** Maximum load of a slot, as a multiple of its even share. */
const CROWDING = 1.2;

/**
 * Assigns each machine its place in the interval: right after its own update, so that readings are fresh, or in the
 * slots after that where many machines are updated at once. Pure: times are milliseconds of the caller's clock.
 */
export class PollPlan {
  private readonly taken = new Uint32Array(SLOTS);
  private readonly slotMs: number;
  private machines = 0;

  /** @param leastPerSlot least capacity of a slot, for few machines */
  constructor(
    private readonly intervalMs: number,
    private readonly leastPerSlot: number,
  ) {
    this.slotMs = intervalMs / SLOTS;
  }

  takePlace(updatedMs: number): PollPlace {
    const wantedSlot = this.slotAfter(updatedMs);
    this.machines += 1;
    const slot = this.firstWithRoom(wantedSlot);
    const order = this.taken[slot] ?? 0;
    this.taken[slot] = order + 1;
    const withinSlot = ((order % this.perSlot) / this.perSlot) * this.slotMs;
    return { wantedSlot, slot, phaseMs: Math.floor(slot * this.slotMs + withinSlot) };
  }

  leavePlace({ slot }: PollPlace): void {
    this.machines -= 1;
    this.taken[slot] = (this.taken[slot] ?? 1) - 1;
  }

  /** Whether a machine that has been updated at `updatedMs` is still well placed. */
  isWellPlaced({ wantedSlot }: PollPlace, updatedMs: number): boolean {
    const apart = Math.abs(this.slotAfter(updatedMs) - wantedSlot);
    return Math.min(apart, SLOTS - apart) <= TOLERATED_SLOTS;
  }

  nextTimeMs({ phaseMs }: PollPlace, afterMs: number): number {
    const intervals = Math.floor((afterMs - phaseMs) / this.intervalMs) + 1;
    return phaseMs + intervals * this.intervalMs;
  }

  private get perSlot(): number {
    return Math.max(this.leastPerSlot, Math.ceil((this.machines / SLOTS) * CROWDING));
  }

  /** The slot after that of the update: the service needs a moment to show it. */
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
