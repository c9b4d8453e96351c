import { DueQueue } from '#libs/delivery';

interface Updated {
  /** When the service last updated it, in epoch seconds; null while that is not known. */
  readonly updatedAt: number | null;
}

/** One for each machine as long as it is polled: there may be a hundred thousand of them. */
export interface PollTurn<T> {
  readonly polled: T;
  /** None before its first poll, where its update time was not known before. */
  place: PollPlace | undefined;
  /** In monotonic milliseconds of the clock. */
  dueMs: number;
  /** When the first of its polls in a row failed; undefined while they are answered. */
  failingSinceMs: number | undefined;
}

/** So many real polls a second are no burden, and no reason to spread machines. */
const EASY_POLLS_PER_SECOND = 50;
/** First turns are so many real milliseconds apart at most. */
const FIRST_TURNS_APART_MS = 5;
/** Whoever polled a machine until now may have missed its turn for so many real milliseconds. */
const HANDED_OVER_MS = 15_000;
/** A machine that is lost rests so many times as long as its poll took to fail: it then takes a twentieth of a slot. */
const REST_PER_FAILURE = 18;
/** But no longer than this, so that with its turn it comes every fourth interval at least. */
const MOST_INTERVALS_OF_REST = 3;

/**
 * Decides when each machine's turn comes. Pure: turns are in monotonic milliseconds of the clock, so that a
 * wall clock that is set moves none of them; a machine's place in the interval goes by the wall clock, and
 * `wallAheadMs` is what that shows more.
 */
export class PollTurns<T extends Updated> {
  private readonly plan: PollPlan;

  /** @param speed clock milliseconds a real one */
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
   * Those whose update times are known get their places, and catch up on a turn that has just been missed.
   * The others are polled soon, one after the other, to get to know them. All of them in random order: the
   * machines of one factory, which may fail together, are listed one after the other.
   */
  first(machines: readonly T[], nowMs: number, wallAheadMs: number): PollTurn<T>[] {
    const apartMs = Math.min(FIRST_TURNS_APART_MS * this.speed, this.intervalMs / machines.length);
    let soonMs = nowMs;
    return this.shuffled(machines).map((polled) => {
      const place = this.placeOf(polled, undefined);
      const dueMs =
        place === undefined
          ? (soonMs += apartMs)
          : this.nextMs(place, nowMs - HANDED_OVER_MS * this.speed, wallAheadMs);
      return { polled, place, dueMs, failingSinceMs: undefined };
    });
  }

  /** To its next, for one that is done, and whose machine is to be left alone until `restedMs`. */
  move(turn: PollTurn<T>, restedMs: number, wallAheadMs: number): void {
    // One that was not answered: first polls come close together, and a service that takes only so many a second (429)
    // would refuse most of the same machines every time.
    const place =
      this.placeOf(turn.polled, turn.place) ?? this.plan.take(this.random() * this.intervalMs);
    // Never twice in one turn, though a place may move.
    const afterMs = Math.max(restedMs, turn.dueMs + this.intervalMs / 2);
    turn.place = place;
    turn.dueMs = Math.max(this.nextMs(place, afterMs, wallAheadMs), afterMs);
  }

  /** For how long the machine of a failed poll rests: not where it failed at once, or is not lost yet. */
  failed(turn: PollTurn<T>, nowMs: number, tookMs: number): number {
    turn.failingSinceMs ??= nowMs;
    if (nowMs - turn.failingSinceMs <= this.staleAfterMs) return 0;
    return Math.min(tookMs * REST_PER_FAILURE, MOST_INTERVALS_OF_REST * this.intervalMs);
  }

  end({ place }: PollTurn<T>): void {
    if (place !== undefined) this.plan.leave(place);
  }

  private nextMs(place: PollPlace, afterMs: number, wallAheadMs: number): number {
    return this.plan.nextMs(place, afterMs + wallAheadMs) - wallAheadMs;
  }

  /** Undefined without an update time, before a first poll; one whose updates have moved gets another. */
  private placeOf({ updatedAt }: T, place: PollPlace | undefined): PollPlace | undefined {
    if (updatedAt === null) return place;
    const updatedMs = updatedAt * 1000;
    if (place === undefined) return this.plan.take(updatedMs);
    if (this.plan.suits(place, updatedMs)) return place;
    this.plan.leave(place);
    return this.plan.take(updatedMs);
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

/** Share of the slots for machines that do not answer: the others have three quarters at any time. */
const FAILING_SHARE = 1 / 4;

/**
 * Who is polled next, in a bounded number of slots. A turn waits here or is under way, never both.
 *
 * Machines that answer come first. Those whose latest poll failed share a quarter of the slots, for a poll that hangs
 * takes one for `MACHINE_CLOUD_TIMEOUT_MS`: at the default, 400 hanging machines would take all 64. Among them,
 * those that have failed for no longer than a machine may go unanswered come before those that are lost.
 *
 * Turns that come while the service answers nobody are kept apart: they are looked at once an interval, may probe,
 * and are all due as soon as it answers. Pure: times are monotonic milliseconds of the clock.
 */
export class PollQueue<T> {
  private readonly answering = new DueQueue<PollTurn<T>>();
  private readonly failing = new DueQueue<PollTurn<T>>();
  private readonly lost = new DueQueue<PollTurn<T>>();
  private readonly passedOver = new DueQueue<PollTurn<T>>();
  private readonly mostFailing: number;
  private underWay = 0;
  private failingUnderWay = 0;

  /** @param staleAfterMs how long a machine may go unanswered before it is lost */
  constructor(
    private readonly slots: number,
    private readonly staleAfterMs: number,
  ) {
    this.mostFailing = Math.max(1, Math.floor(slots * FAILING_SHARE));
  }

  get hasPassedOver(): boolean {
    return this.passedOver.size > 0;
  }

  /** Turns that wait, due or passed over. */
  waitingAt(nowMs: number): number {
    return [this.answering, this.failing, this.lost].reduce(
      (sum, queue) => sum + queue.countDue(nowMs),
      this.passedOver.size,
    );
  }

  add(turn: PollTurn<T>): void {
    this.queueOf(turn).add(turn.dueMs, turn);
  }

  /** The turn's machine was not polled, since the service answers nobody; it is looked at again at `lookMs`. */
  passOver(turn: PollTurn<T>, lookMs: number): void {
    this.passedOver.add(lookMs, turn);
  }

  /** The service answers: turns that were passed over are made up, in the order in which they were due. */
  makeUp(): void {
    for (let turn = this.passedOver.take(); turn !== undefined; turn = this.passedOver.take()) {
      this.add(turn);
    }
  }

  /** Takes a due turn into a slot until {@link release}; `mayProbe`: also one that was passed over, before its time. */
  take(nowMs: number, mayProbe: boolean): PollTurn<T> | undefined {
    const queue = this.openQueues().find(({ earliestMs }) => earliestMs <= nowMs);
    const turn = queue?.take() ?? this.takePassedOver(nowMs, mayProbe);
    if (turn === undefined) return undefined;
    this.underWay += 1;
    if (isFailing(turn)) this.failingUnderWay += 1;
    return turn;
  }

  /** To be called before it is noted what became of the turn. */
  release(turn: PollTurn<T>): void {
    this.underWay -= 1;
    if (isFailing(turn)) this.failingUnderWay -= 1;
  }

  /** When there is something to take, unless a slot is given back or a turn added before. */
  get nextMs(): number {
    const { earliestMs: lookMs } = this.passedOver;
    if (this.underWay >= this.slots) return Infinity;
    return Math.min(lookMs, ...this.openQueues().map(({ earliestMs }) => earliestMs));
  }

  private takePassedOver(nowMs: number, mayProbe: boolean): PollTurn<T> | undefined {
    const { earliestMs } = this.passedOver;
    const isFree = this.underWay < this.slots;
    return isFree && (mayProbe || earliestMs <= nowMs) ? this.passedOver.take() : undefined;
  }

  private openQueues(): DueQueue<PollTurn<T>>[] {
    if (this.underWay >= this.slots) return [];
    if (this.failingUnderWay >= this.mostFailing) return [this.answering];
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
