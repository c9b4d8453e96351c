import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { Semaphore } from '#libs/delivery';
import { type FlowHold, FlowControls } from '../../flow-control/index.js';
import type { FailedAnswer } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { PollHealth } from './poll-health.js';
import { PollQueue, type PollTurn, PollTurns } from './poll-turns.js';
import { PollingMetrics } from './polling-metrics.js';

export interface Poll {
  /** The failed answer; null if the poll was answered, undefined if no call was made. */
  failure: FailedAnswer | null | undefined;
  /** Number of activity log entries that were read: each may lead to an event. */
  logEntries: number;
  /** Publishes the result; the machine's next poll begins after it. */
  conclude(): Promise<void>;
}

/** Something that is polled once an interval until it has ended. */
export interface Polled {
  readonly machineId: string;
  readonly hasEnded: boolean;
  /** When the service last updated it, in epoch seconds; null while unknown. */
  readonly updatedAt: number | null;
  poll(): Promise<Poll>;
  /** Handles a turn without a call, while polls are paused. */
  passOver(): Promise<void>;
}

/**
 * Maximum of activity log entries under publication before polling waits; an answer counts as ten more. An event
 * takes some 2.5 kB until it is published: after weeks of downtime 120 machines with 6,500 each took 1.6 GB.
 */
const MOST_ENTRIES = 10_000;
const ENTRIES_PER_ANSWER = 10;

/** Result of a turn: its poll, undefined after a bug or if its machine has ended; or no call at all. */
type Served = { poll: Poll | undefined; tookMs: number } | 'passed-over';

/** Polls every machine once an interval, at its place in it. A slow machine skips turns: its polls never overlap. */
@Injectable()
export class PollLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('PollLoop');
  private readonly stopping = new AbortController();
  private readonly queue: PollQueue<Polled>;
  private readonly publication = new Semaphore(MOST_ENTRIES);
  private readonly turns: PollTurns<Polled>;
  private readonly intervalMs: number;
  private readonly hold: FlowHold;
  private isRunning = false;
  private waking = new AbortController();
  private wakesAtMs = Infinity;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly health: PollHealth,
    private readonly metrics: PollingMetrics,
    controls: FlowControls,
  ) {
    this.intervalMs = settings.polling.intervalSeconds * 1000;
    const staleAfterMs = settings.polling.staleAfterSeconds * 1000;
    this.queue = new PollQueue(settings.machineCloud.maxConcurrency, staleAfterMs);
    this.turns = new PollTurns(this.intervalMs, staleAfterMs, clock.speed);
    this.hold = controls.holdOf('machine-states');
    this.hold.onRelease(() => {
      this.health.recordResumed();
      this.startDueTurns();
    });
  }

  addMachines(machines: readonly Polled[]): void {
    const turns = this.turns.firstTurns(machines, this.clock.monotonicMs(), this.wallAheadMs);
    for (const turn of turns) this.queue.addTurn(turn);
    this.startDueTurns();
  }

  onApplicationBootstrap(): void {
    this.isRunning = true;
    void this.runTurns();
  }

  beforeApplicationShutdown(): void {
    this.isRunning = false;
    this.stopping.abort(new Error('polling is stopping'));
    this.waking.abort();
  }

  /** Number of machines that are due and have not been polled yet. */
  get dueMachines(): number {
    return this.queue.countWaiting(this.clock.monotonicMs());
  }

  private get wallAheadMs(): number {
    return this.clock.nowMs() - this.clock.monotonicMs();
  }

  private async runTurns(): Promise<void> {
    while (this.isRunning) {
      this.startDueTurns();
      this.waking = new AbortController();
      this.wakesAtMs = Math.min(this.nextWakeMs, this.clock.monotonicMs() + this.intervalMs);
      await this.clock
        .sleepUntilMonotonicMs(this.wakesAtMs, this.waking.signal)
        .catch(() => undefined);
    }
  }

  /** Starts the turns that are due and get a slot. Called after every change that may allow more of them. */
  private startDueTurns(): void {
    if (!this.isRunning || this.hold.isHeld) return;
    if (!this.health.isPaused) this.queue.requeuePassedOver();
    const nowMs = this.clock.monotonicMs();
    for (;;) {
      const turn = this.queue.takeTurn(nowMs, this.health.nextProbeMs <= nowMs);
      if (turn === undefined) break;
      void this.serveTurn(turn);
    }
    if (this.nextWakeMs < this.wakesAtMs) this.waking.abort();
  }

  private get nextWakeMs(): number {
    if (this.hold.isHeld) return Infinity;
    const probeMs = this.queue.hasPassedOver ? this.health.nextProbeMs : Infinity;
    return Math.min(this.queue.nextMs, probeMs);
  }

  private async serveTurn(turn: PollTurn<Polled>): Promise<void> {
    const served = await this.pollMachine(turn);
    const poll = served === 'passed-over' ? undefined : served.poll;
    const size = ENTRIES_PER_ANSWER + (poll?.logEntries ?? 0);
    await new Promise<void>((hasRoom) => this.publication.acquire(hasRoom, size));
    // Kafka may take long; the slot is free for others meanwhile.
    this.queue.releaseSlot(turn);
    this.startDueTurns();
    await this.concludeTurn(turn, served);
    this.publication.release(size);
    this.startDueTurns();
  }

  private async pollMachine(turn: PollTurn<Polled>): Promise<Served> {
    const { polled, dueMs, failingSinceMs } = turn;
    if (polled.hasEnded) return { poll: undefined, tookMs: 0 };
    const call = this.health.admitPoll(failingSinceMs !== undefined);
    if (call === undefined) return 'passed-over';
    const startedMs = this.clock.monotonicMs();
    // Not for failing machines: they wait for their share of the slots.
    const lateMs = Math.max(0, startedMs - dueMs);
    if (failingSinceMs === undefined) this.metrics.latenessSeconds.observe(lateMs / 1000);
    let poll: Poll | undefined;
    try {
      poll = await polled.poll();
    } catch (error) {
      this.logFault(error, polled);
    } finally {
      this.health.endPoll(call, poll?.failure);
    }
    return { poll, tookMs: this.clock.monotonicMs() - startedMs };
  }

  private async concludeTurn(turn: PollTurn<Polled>, served: Served): Promise<void> {
    const { polled } = turn;
    try {
      if (served === 'passed-over') await polled.passOver();
      else await served.poll?.conclude();
    } catch (error) {
      this.logFault(error, polled);
    }
    if (polled.hasEnded) this.turns.endTurns(turn);
    else if (served === 'passed-over') {
      this.queue.passOver(turn, this.clock.monotonicMs() + this.intervalMs);
    } else this.queueNextTurn(turn, served.poll, served.tookMs);
  }

  private queueNextTurn(turn: PollTurn<Polled>, poll: Poll | undefined, tookMs: number): void {
    const nowMs = this.clock.monotonicMs();
    let restMs = 0;
    if (poll?.failure === null) turn.failingSinceMs = undefined;
    // A failed probe says nothing about its machine: the service is down.
    else if (poll?.failure !== undefined && !this.health.isPaused) {
      restMs = this.turns.restAfterFailureMs(turn, nowMs, tookMs);
    }
    this.turns.moveToNext(turn, nowMs + restMs, this.wallAheadMs);
    this.queue.addTurn(turn);
  }

  /** A failure after the partition was lost is expected, and not logged. */
  private logFault(error: unknown, { machineId, hasEnded }: Polled): void {
    if (!hasEnded) this.logger.error({ msg: 'poll failed', machineId, err: error });
  }
}
