import { afterRealMs, realNowMs } from '#libs/clock';
import { type BatchLimits, ListQueue } from '#libs/delivery';
import { ListCalls } from './list-calls.js';
import { type ListCallsOptions } from './list-calls-options.js';
import { combine, type PendingList, sizeOf, supersede } from './pending-list.js';

export interface ListDispatcherOptions extends ListCallsOptions {
  limits: BatchLimits;
  /** Real milliseconds a list may wait for others to share its request. */
  lingerMs: number;
}

/**
 * Brings waiting lists to the service: the newest of each machine, many machines a request. A request
 * that is refused is split until the machine at fault is alone; one that fails or is slow makes its
 * machines leave in smaller company. Per machine one request is under way at a time.
 */
export class ListDispatcher {
  private readonly queue: ListQueue<PendingList>;
  private readonly calls: ListCalls;
  private isPlaceAsked = false;
  private cancelWake: () => void = () => undefined;
  private wakeAtMs = Infinity;

  constructor(private readonly options: ListDispatcherOptions) {
    this.queue = new ListQueue(options.limits);
    this.calls = new ListCalls(this.queue, options, () => {
      this.wakeForRetries();
      this.pump();
    });
  }

  /** Machines with a list waiting or under way. */
  get busyMachines(): number {
    return this.queue.busyMachines;
  }

  /** Takes a list; its waiters hear what became of it, each once. */
  submit(machineId: string, next: PendingList): void {
    const waiting = this.queue.waitingOf(machineId);
    const { keep, superseded } =
      waiting === undefined
        ? { keep: next, superseded: undefined }
        : combine(waiting.payload, next);
    if (superseded !== undefined) supersede(superseded, machineId);
    if (keep === waiting?.payload) return;
    const bytes = sizeOf(machineId, keep.workingOrders());
    this.queue.offer({ machineId, bytes, payload: keep, attempts: waiting?.attempts ?? 0 });
    if (this.queue.waiting >= this.options.limits.maxMachines) this.pump();
    else this.wakeIn(this.options.lingerMs);
  }

  /** Asks for a place among the calls; when it comes, whatever is ready by then shares the request. */
  private pump(): void {
    if (this.isPlaceAsked || !this.queue.isReady(realNowMs())) return;
    this.isPlaceAsked = true;
    void this.options.limit.run(async () => {
      this.isPlaceAsked = false;
      const batch = this.queue.take(realNowMs());
      this.pump();
      await this.calls.send(batch);
    });
  }

  private wakeForRetries(): void {
    const nowMs = realNowMs();
    const nextMs = this.queue.nextRetryMs(nowMs);
    if (nextMs !== undefined) this.wakeIn(nextMs - nowMs);
  }

  /** One timer serves all that wait: the earliest counts, and on its way it looks for the next. */
  private wakeIn(ms: number): void {
    const atMs = realNowMs() + ms;
    if (atMs >= this.wakeAtMs) return;
    this.cancelWake();
    this.wakeAtMs = atMs;
    this.cancelWake = afterRealMs(ms, () => {
      this.wakeAtMs = Infinity;
      this.wakeForRetries();
      this.pump();
    });
  }
}
