import { DueQueue } from '#libs/delivery';
import type { PollTurn } from './poll-turns.js';

/** Of the slots, for the machines that do not answer: the others have three quarters of them at any time. */
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

  /**
   * Takes a turn that is due, into a slot that {@link release} gives back; undefined while none is, or no slot is free.
   *
   * @param mayProbe whether a turn that was passed over may be taken before it is to be looked at
   */
  take(nowMs: number, mayProbe: boolean): PollTurn<T> | undefined {
    const queue = this.openQueues().find(({ earliestMs = Infinity }) => earliestMs <= nowMs);
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
    const { earliestMs: lookMs = Infinity } = this.passedOver;
    if (this.underWay >= this.slots) return Infinity;
    return Math.min(lookMs, ...this.openQueues().map(({ earliestMs = Infinity }) => earliestMs));
  }

  private takePassedOver(nowMs: number, mayProbe: boolean): PollTurn<T> | undefined {
    const { earliestMs = Infinity } = this.passedOver;
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
