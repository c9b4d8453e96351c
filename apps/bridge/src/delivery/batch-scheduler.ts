import { afterRealMs, realNowMs } from '#libs/clock';
import type { DispatcherOptions } from './command.js';
import type { FlowStatus } from './flow-status.js';
import type { LaneEntry, LaneQueue } from './lane-queue.js';

/**
 * Decides when calls of a flow begin. Ready machines wait for the linger time, unless they fill a call; others until
 * they are due, and while the flow is paused, until it may probe. A flow asks for one slot at a time: machines that
 * share a call need only one.
 */
export class BatchScheduler<T extends LaneEntry> {
  private readonly spread = new CallSpread();
  private readonly timer = new WakeTimer(() => {
    // The linger time is over and no call is full: the machines may leave in several, see {@link CallSpread}.
    const nowMs = realNowMs();
    this.requestSlots(this.spread.callsFor(this.queue.readyMachines(nowMs), nowMs));
  });
  /** A slot has been asked for, and is yet to come. */
  private awaitsSlot = false;

  /**
   * @param begin a slot is there: whatever is ready shares the call, or gives the slot back. So many calls are to share
   * what is ready, as far as there are slots at once; this is the first of them
   */
  constructor(
    private readonly queue: LaneQueue<T>,
    private readonly status: FlowStatus,
    private readonly options: Pick<DispatcherOptions<never>, 'slots' | 'limits'>,
    private readonly begin: (calls: number) => void,
  ) {}

  /** Lets ready machines wait that long for others to share their call, unless one is full already. */
  requestSlotsAfter(lingerMs: number): void {
    if (this.queue.waiting === 0) return;
    // Only those that may be sent now count: machines in back-off would make all others go alone.
    const { maxMachines } = this.options.limits;
    const mayGo = lingerMs === 0 || this.queue.readyMachines(realNowMs()) >= maxMachines;
    if (mayGo) this.requestSlots();
    else this.timer.wakeAt(realNowMs() + lingerMs);
  }

  /** A call for so many machines begins. */
  begun(nowMs: number, machines: number): void {
    this.spread.begun(nowMs, machines >= this.options.limits.maxMachines);
  }

  /** Asks for a slot for what is ready, and for what is not yet when its time has come. */
  requestSlots(calls = 1): void {
    const { slots } = this.options;
    let callsLeft = calls;
    while (!this.awaitsSlot && this.queue.readyMachines(realNowMs()) > 0 && this.status.admits()) {
      if (slots.tryAcquire()) {
        this.begin(callsLeft);
        callsLeft = Math.max(1, callsLeft - 1);
        continue;
      }
      this.awaitsSlot = true;
      slots.acquire(() => {
        this.awaitsSlot = false;
        // A slot that comes later is for all machines that are ready by then; the flow may have been paused meanwhile.
        if (this.status.admits()) this.begin(1);
        else slots.releaseUnused();
        this.requestSlots();
      });
    }
    this.wakeForNext();
  }

  private wakeForNext(): void {
    // The release of a hold asks again.
    if (this.queue.waiting === 0 || this.status.isHeld) return;
    const nowMs = realNowMs();
    const dueMs = this.queue.nextDueMs(nowMs);
    const { isOpen, nextProbeMs } = this.status.breaker;
    // What is ready has its slot asked for, unless it has become so just now, since it was last looked for.
    if (!isOpen && !(dueMs <= nowMs && this.awaitsSlot)) this.timer.wakeAt(dueMs);
    // A probe under way wakes by its end.
    if (nextProbeMs !== undefined) this.timer.wakeAt(Math.max(dueMs, nextProbeMs));
  }
}

/** How many calls are made where one would do, so that fewer share the fate of a bad machine. */
const SIDE_BY_SIDE = 4;
/** So few machines are not worth a further call. */
const FEW = 8;
/** How long a call counts in the rate of the flow. */
const RELEVANT_MS = 1000;
/** So many calls within that time make a flow that keeps coming; fewer may be of some that came on their own. */
const STEADY_CALLS = 10;

/** Decides over how many calls ready machines are spread that do not fill one. */
class CallSpread {
  /** When the latest calls began, oldest first. */
  private readonly latestMs = Array<number>(STEADY_CALLS).fill(-Infinity);
  private latestFullMs = -Infinity;

  begun(nowMs: number, isFull: boolean): void {
    this.latestMs.shift();
    this.latestMs.push(nowMs);
    if (isFull) this.latestFullMs = nowMs;
  }

  /**
   * One where commands come so fast that calls fill up, for calls are what keeps them waiting then; and one for
   * those that come on their own: a slow call holds up nothing else. In between, up to four.
   */
  callsFor(machines: number, nowMs: number): number {
    const isFast = nowMs - this.latestFullMs < RELEVANT_MS;
    const [oldestMs = -Infinity] = this.latestMs;
    const isSteady = nowMs - oldestMs < RELEVANT_MS;
    if (isFast || !isSteady) return 1;
    return Math.min(SIDE_BY_SIDE, Math.max(1, Math.ceil(machines / FEW)));
  }
}

/** Timers overflow far above this; who wakes too early looks at what is due and sleeps again. */
const LONGEST_SLEEP_MS = 60_000;

/** One timer for all that waits: the earliest time asked for counts. */
export class WakeTimer {
  private cancel: () => void = () => undefined;
  private atMs = Infinity;

  /** @param onWake looks at what is due, and asks for the next time */
  constructor(private readonly onWake: () => void) {}

  /** Asks to be woken at that real time, in milliseconds, or somewhat before. */
  wakeAt(atMs: number): void {
    if (atMs >= this.atMs) return;
    this.cancel();
    this.atMs = atMs;
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(1, atMs - realNowMs()));
    this.cancel = afterRealMs(sleepMs, () => {
      this.atMs = Infinity;
      this.onWake();
    });
  }
}
