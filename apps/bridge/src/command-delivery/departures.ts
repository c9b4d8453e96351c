import { realNowMs } from '#libs/clock';
import { type LaneEntry, type LaneQueue } from '#libs/delivery';
import { CallSpread } from './call-spread.js';
import { type DispatcherOptions } from './dispatcher-options.js';
import { type FlowStatus } from './flow-status.js';
import { SlotDemand } from './slot-demand.js';
import { WakeTimer } from './wake-timer.js';

/**
 * When calls of a flow begin: what is ready waits a moment for company, unless it fills a call; what has to wait is
 * asked for when its time has come, and while the flow is paused, when it may try one.
 */
export class Departures<T extends LaneEntry> {
  private readonly demand: SlotDemand;
  private readonly spread = new CallSpread();
  private readonly timer = new WakeTimer(() => {
    this.askSideBySide();
  });

  /** @param begin see {@link Demand.begin} */
  constructor(
    private readonly queue: LaneQueue<T>,
    private readonly status: FlowStatus,
    private readonly options: Pick<DispatcherOptions<never>, 'slots' | 'limits'>,
    begin: (calls: number) => void,
  ) {
    this.demand = new SlotDemand(options.slots, {
      isWanted: () => status.admits() && queue.readyMachines(realNowMs()) > 0,
      begin,
      whenAsked: () => {
        this.wakeForNext();
      },
    });
  }

  /** Lets what is ready wait that long for company, unless a call is full already. */
  gather(lingerMs: number): void {
    // Only those that may be sent now count: machines in back-off would make all others go alone.
    const mayGo = lingerMs === 0 || this.isFull(this.queue.readyMachines(realNowMs()));
    if (mayGo) this.demand.ask();
    else this.timer.wakeAt(realNowMs() + lingerMs);
  }

  /** Asks for a slot for what is ready, and for what is not yet when its time has come. */
  ask(): void {
    this.demand.ask();
  }

  /** A call for so many machines begins. */
  begun(nowMs: number, machines: number): void {
    this.spread.begun(nowMs, this.isFull(machines));
  }

  private isFull(machines: number): boolean {
    return machines >= this.options.limits.maxMachines;
  }

  /** For what has gathered without filling a call: it may leave in several, see {@link CallSpread}. */
  private askSideBySide(): void {
    const nowMs = realNowMs();
    this.demand.ask(this.spread.callsFor(this.queue.readyMachines(nowMs), nowMs));
  }

  private wakeForNext(): void {
    const nowMs = realNowMs();
    const isReady = this.queue.readyMachines(nowMs) > 0;
    const dueMs = isReady ? nowMs : this.queue.nextDueMs;
    if (dueMs === undefined) return;
    const { isPaused, nextProbeMs } = this.status;
    // What is ready has its slot asked for, unless it has become so just now, since it was last looked for.
    if (!isPaused && !(isReady && this.demand.isOutstanding)) this.timer.wakeAt(dueMs);
    // A probe under way wakes by its end.
    if (nextProbeMs !== undefined) this.timer.wakeAt(Math.max(dueMs, nextProbeMs));
  }
}
