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
import { type PollPlace, PollPlan } from './poll-plan.js';
import { PollingMetrics } from './polling-metrics.js';

/** What the service has answered. */
export interface Poll {
  /** Real milliseconds the service asked to be left alone for. */
  restMs: number;
  /** Publishes what the answer brought to light; the next poll begins after it. */
  conclude(): Promise<void>;
}

/** Something that is polled once an interval until it has ended. */
export interface Polled {
  readonly machineId: string;
  readonly hasEnded: boolean;
  /** When the service last updated it, in epoch seconds; null while that is not known. */
  readonly updatedAt: number | null;
  poll(): Promise<Poll>;
  /** Its turn has come, but the service is not asked: it answers nobody at the moment. */
  passOver(): Promise<void>;
}

interface Turn {
  polled: Polled;
  place: PollPlace | undefined;
}

/** So many real polls a second are no burden, and no reason to spread machines. */
const EASY_POLLS_PER_SECOND = 50;
/** First turns are so many real milliseconds apart at most. */
const FIRST_TURNS_APART_MS = 5;
/** So many answers may wait to be published before polling waits for them. */
const MOST_CONCLUSIONS = 1000;
/** Whoever polled a machine until now may have missed its turn for so many real milliseconds. */
const HANDED_OVER_MS = 15_000;

/**
 * Polls every machine once an interval, each at its own place in it. A machine is in the queue or under
 * way, never both: a slow answer skips a turn and cannot be overtaken.
 */
@Injectable()
export class PollLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('PollLoop');
  private readonly stopping = new AbortController();
  private readonly queue = new DueQueue<Turn>();
  private readonly calls: CallSlots;
  private readonly conclusions = new CallSlots(MOST_CONCLUSIONS);
  private readonly plan: PollPlan;
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
    const realIntervalSeconds = settings.polling.intervalSeconds / clock.speed;
    this.plan = new PollPlan(
      this.intervalMs,
      Math.ceil((EASY_POLLS_PER_SECOND * realIntervalSeconds) / 60),
    );
  }

  /**
   * Those whose update times are known get their places, and catch up on a turn that has just been missed.
   * The others are polled soon, one after the other, to get to know them.
   */
  addAll(machines: readonly Polled[]): void {
    const { speed } = this.clock;
    const nowMs = this.clock.nowMs();
    const apartMs = Math.min(FIRST_TURNS_APART_MS * speed, this.intervalMs / machines.length);
    let firstMs = nowMs;
    for (const polled of machines) {
      const place = this.placeOf(polled, undefined);
      if (place === undefined) this.enqueue({ polled, place }, (firstMs += apartMs));
      else this.enqueue({ polled, place }, this.plan.nextMs(place, nowMs - HANDED_OVER_MS * speed));
    }
  }

  onApplicationBootstrap(): void {
    void this.run();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('polling is stopping'));
    this.waking.abort();
  }

  private enqueue(turn: Turn, dueMs: number): void {
    const isEarliest = dueMs < (this.queue.earliestMs ?? Infinity);
    this.queue.add(dueMs, turn);
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
        const due = this.queue.take();
        started();
        if (due === undefined || this.isStopping()) return;
        const poll = await this.ask(due.item.polled, due.dueMs);
        await new Promise<void>((hasRoom) => {
          this.conclusions.ask(hasRoom);
        });
        // Kafka may take its time; the service is free for others meanwhile.
        void this.conclude(due.item, due.dueMs, poll);
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
  private async ask(polled: Polled, dueMs: number): Promise<Poll | undefined> {
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

  private async conclude(turn: Turn, dueMs: number, poll: Poll | undefined): Promise<void> {
    try {
      await poll?.conclude();
    } catch (error) {
      this.tellOf(error, turn.polled);
    } finally {
      this.conclusions.release();
      this.enqueueAgain(turn, dueMs, poll?.restMs ?? 0);
    }
  }

  private enqueueAgain(turn: Turn, dueMs: number, restMs: number): void {
    const { polled } = turn;
    if (this.isStopping()) return;
    if (polled.hasEnded) {
      if (turn.place !== undefined) this.plan.leave(turn.place);
      return;
    }
    const place = this.placeOf(polled, turn.place);
    const doneMs = this.clock.nowMs() + restMs * this.clock.speed;
    // Never twice in one turn, though a place may move, and a clock may be set back between due and done.
    const afterMs = Math.max(doneMs, dueMs + this.intervalMs / 2);
    const nextMs = place === undefined ? dueMs + this.intervalMs : this.plan.nextMs(place, afterMs);
    this.enqueue({ polled, place }, Math.max(nextMs, afterMs));
  }

  /** What fails because its partition has been lost is no fault. */
  private tellOf(error: unknown, { machineId, hasEnded }: Polled): void {
    if (!hasEnded) this.logger.error({ msg: 'poll failed', machineId, err: error });
  }

  /** A machine without an update time has no place yet; one whose updates have moved gets another. */
  private placeOf({ updatedAt }: Polled, place: PollPlace | undefined): PollPlace | undefined {
    if (updatedAt === null) return place;
    const updatedMs = updatedAt * 1000;
    if (place === undefined) return this.plan.take(updatedMs);
    if (this.plan.suits(place, updatedMs)) return place;
    this.plan.leave(place);
    return this.plan.take(updatedMs);
  }
}
