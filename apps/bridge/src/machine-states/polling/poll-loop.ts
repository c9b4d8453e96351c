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
import { PollHealth } from './poll-health.js';
import { type PollTurn, PollTurns } from './poll-turns.js';
import { type Poll, type Polled } from './polled.js';
import { PollingMetrics } from './polling-metrics.js';

/** So many answers may wait to be published before polling waits for them. */
const MOST_CONCLUSIONS = 1000;

/**
 * Polls every machine once an interval, each at its own place in it. A machine is in the queue or under
 * way, never both: a slow answer skips a turn and cannot be overtaken.
 */
@Injectable()
export class PollLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('PollLoop');
  private readonly stopping = new AbortController();
  private readonly queue = new DueQueue<PollTurn<Polled>>();
  private readonly calls: CallSlots;
  private readonly conclusions = new CallSlots(MOST_CONCLUSIONS);
  private readonly turns: PollTurns<Polled>;
  private readonly intervalMs: number;
  private waking = new AbortController();

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly health: PollHealth,
    private readonly metrics: PollingMetrics,
  ) {
    this.intervalMs = settings.polling.intervalSeconds * 1000;
    this.calls = new CallSlots(settings.machineCloud.maxConcurrency);
    this.turns = new PollTurns(this.intervalMs, clock.speed);
  }

  addAll(machines: readonly Polled[]): void {
    for (const turn of this.turns.first(machines, this.clock.nowMs())) this.enqueue(turn);
  }

  onApplicationBootstrap(): void {
    void this.run();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('polling is stopping'));
    this.waking.abort();
  }

  private enqueue(turn: PollTurn<Polled>): void {
    const isEarliest = turn.dueMs < (this.queue.earliestMs ?? Infinity);
    this.queue.add(turn.dueMs, turn);
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
      void this.calls.run(async () => {
        const turn = this.queue.take();
        started();
        if (turn === undefined || this.isStopping()) return;
        const poll = await this.ask(turn);
        await new Promise<void>((hasRoom) => {
          this.conclusions.ask(hasRoom);
        });
        // Kafka may take its time; the service is free for others meanwhile.
        void this.conclude(turn, poll);
      });
    });
  }

  /** Or until something that is due earlier is added, or polling stops. */
  private async sleepUntilDue(): Promise<void> {
    this.waking = new AbortController();
    const dueSeconds = (this.queue.earliestMs ?? this.clock.nowMs() + this.intervalMs) / 1000;
    await this.clock.sleepUntilSeconds(dueSeconds, this.waking.signal).catch(() => undefined);
  }

  /** What is polled of a machine; nothing where it has ended or its turn is passed over. */
  private async ask({ polled, dueMs }: PollTurn<Polled>): Promise<Poll | undefined> {
    const { machineId } = polled;
    if (polled.hasEnded) return undefined;
    try {
      if (!this.health.pollBegins(machineId)) {
        return { restMs: 0, conclude: () => polled.passOver() };
      }
      this.metrics.lateness((this.clock.nowMs() - dueMs) / 1000);
      return await polled.poll();
    } catch (error) {
      this.tellOf(error, polled);
      return undefined;
    } finally {
      this.health.pollEnds(machineId);
    }
  }

  private async conclude(turn: PollTurn<Polled>, poll: Poll | undefined): Promise<void> {
    const { polled } = turn;
    try {
      await poll?.conclude();
    } catch (error) {
      this.tellOf(error, polled);
    } finally {
      this.conclusions.release();
    }
    if (this.isStopping()) return;
    if (polled.hasEnded) this.turns.end(turn);
    else {
      const restMs = (poll?.restMs ?? 0) * this.clock.speed;
      this.turns.move(turn, this.clock.nowMs() + restMs);
      this.enqueue(turn);
    }
  }

  /** What fails because its partition has been lost is no fault. */
  private tellOf(error: unknown, { machineId, hasEnded }: Polled): void {
    if (!hasEnded) this.logger.error({ msg: 'poll failed', machineId, err: error });
  }
}
