import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { CallSlots, DueQueue } from '#libs/delivery';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { PollingMetrics } from './polling-metrics.js';

import { nextPollMs, phaseMs } from './poll-times.js';

/** Something that is polled once an interval until its signal aborts. */
export interface Polled {
  readonly machineId: string;
  readonly signal: AbortSignal;
  /** Resolves with the real milliseconds the service asked to be left alone for; must not reject. */
  poll(): Promise<number>;
}

/**
 * Polls every machine once an interval, each at its own place in it. A machine is in the queue or under
 * way, never both: a slow answer skips a turn and cannot be overtaken.
 */
@Injectable()
export class PollLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('PollLoop');
  private readonly stopping = new AbortController();
  private readonly queue = new DueQueue<Polled>();
  private readonly limit: CallSlots;
  private readonly intervalMs: number;
  private waking = new AbortController();

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly metrics: PollingMetrics,
  ) {
    this.intervalMs = settings.polling.intervalSeconds * 1000;
    this.limit = new CallSlots(settings.machineCloud.maxConcurrency);
  }

  /** From its next turn on. */
  add(polled: Polled): void {
    this.enqueue(polled, this.clock.nowMs());
  }

  onApplicationBootstrap(): void {
    void this.run();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('polling is stopping'));
    this.waking.abort();
  }

  private enqueue(polled: Polled, afterMs: number): void {
    const dueMs = nextPollMs(phaseMs(polled.machineId, this.intervalMs), this.intervalMs, afterMs);
    const isEarliest = dueMs < (this.queue.earliestMs ?? Infinity);
    this.queue.add(dueMs, polled);
    if (isEarliest) this.waking.abort();
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async run(): Promise<void> {
    while (!this.isStopping()) {
      await this.sleepUntilDue();
      while (!this.isStopping() && (this.queue.earliestMs ?? Infinity) <= this.clock.nowMs()) {
        await this.startNext();
      }
    }
  }

  /** Resolves when there is room for another poll, which is then the one due by then. */
  private startNext(): Promise<void> {
    return new Promise((started) => {
      void this.limit.run(async () => {
        const due = this.queue.take();
        started();
        if (due === undefined || due.item.signal.aborted || this.isStopping()) return;
        await this.turn(due.item, due.dueMs);
      });
    });
  }

  /** Or until something that is due earlier is added, or polling stops. */
  private async sleepUntilDue(): Promise<void> {
    this.waking = new AbortController();
    const dueSeconds = (this.queue.earliestMs ?? this.clock.nowMs() + this.intervalMs) / 1000;
    await this.clock.sleepUntilSeconds(dueSeconds, this.waking.signal).catch(() => undefined);
  }

  private async turn(polled: Polled, dueMs: number): Promise<void> {
    this.metrics.lateness((this.clock.nowMs() - dueMs) / 1000);
    let restMs = 0;
    try {
      restMs = await polled.poll();
    } catch (error) {
      this.logger.error({ msg: 'poll failed', machineId: polled.machineId, err: error });
    }
    if (polled.signal.aborted || this.isStopping()) return;
    // Never twice in one turn, though a clock set back between due and done would allow it.
    const doneMs = Math.max(dueMs, this.clock.nowMs() + restMs * this.clock.speed);
    this.enqueue(polled, doneMs);
  }
}
