import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { Clock, realDelayMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { describeFailure } from './look-ups.js';
import { ReasonLists } from './reason-lists.js';
import { ReasonRecords } from './reason-records.js';

const WORKERS = 4;
/** Pause of each worker after a look-up: forty look-ups a second at most, whatever the number of machines. */
const REST_MS = 100;
/** Maximum share of a rate limit: polls and look-ups that a message waits for have the rest. */
const RATE_LIMIT_SHARE = 1 / 5;
const BATCH_SIZE = 256;
const BACK_OFF = { baseMs: 5000, capMs: 300_000 };

/** Keeps published reasons no older than `REASONS_REFRESH_SECONDS`, a few machines at a time. */
@Injectable()
export class ReasonRefresh implements BeforeApplicationShutdown {
  private readonly logger = new Logger('ReasonRefresh');
  private readonly stopping = new AbortController();
  private readonly waiting = new Set<string>();
  /** The first machines of `waiting`, in reverse order. */
  private readonly batch: string[] = [];
  private readonly reading = new Set<string>();
  private workers = 0;
  private failures = 0;
  private readonly restMs: number;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly lists: ReasonLists,
    private readonly records: ReasonRecords,
  ) {
    const { maxRequestsPerSecond = Infinity } = settings.machineCloud;
    this.restMs = Math.max(REST_MS, (WORKERS * 1000) / (maxRequestsPerSecond * RATE_LIMIT_SHARE));
  }

  /** Queues the machine if its reasons are older than `REASONS_REFRESH_SECONDS`. */
  queueIfStale(machineId: string): void {
    if (this.stopping.signal.aborted || this.reading.has(machineId)) return;
    const readAtMs = this.records.readAtMs(machineId) ?? -Infinity;
    if (this.clock.monotonicMs() - readAtMs < this.settings.reasonsRefreshSeconds * 1000) return;
    this.waiting.add(machineId);
    if (this.workers < WORKERS) void this.runWorker();
  }

  /** Forgets a machine that is gone or of another process: queued again, its reasons are published in any case. */
  forgetReasons(machineId: string): void {
    this.waiting.delete(machineId);
    this.reading.delete(machineId);
    this.records.forgetPublished(machineId);
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
    this.waiting.clear();
  }

  private async runWorker(): Promise<void> {
    this.workers += 1;
    for (let next = this.takeNextMachine(); next !== undefined; next = this.takeNextMachine()) {
      this.reading.add(next);
      const restMs = await this.refreshMachine(next).catch((error: unknown) =>
        this.logFault(error, next),
      );
      await realDelayMs(restMs, this.stopping.signal).catch(() => undefined);
    }
    this.workers -= 1;
  }

  /**
   * Removes and returns the machine that has waited longest. Machines are taken from the set in batches: an iterator
   * that is kept while a hundred thousand come and go keeps all the tables that the set has ever had, 10 MB of them,
   * and a new one walks past all removed entries.
   */
  private takeNextMachine(): string | undefined {
    for (;;) {
      const next = this.batch.pop();
      if (next === undefined) {
        if (this.waiting.size === 0) return undefined;
        this.fillBatch();
      } else if (this.waiting.delete(next)) return next;
    }
  }

  private fillBatch(): void {
    for (const machineId of this.waiting) {
      this.batch.push(machineId);
      if (this.batch.length === BATCH_SIZE) break;
    }
    this.batch.reverse();
  }

  /** Returns the pause after it, in real milliseconds. */
  private async refreshMachine(machineId: string): Promise<number> {
    const answer = await this.lists.refreshReasons(machineId, this.stopping.signal).finally(() => {
      // If the machine was forgotten meanwhile, so is what was read.
      if (!this.reading.delete(machineId)) this.records.forgetPublished(machineId);
    });
    if (answer.kind === 'retry' || answer.kind === 'unauthorised') {
      this.failures += 1;
      if (this.failures === 1) {
        this.logger.warn({ msg: 'reasons not read', machineId, why: describeFailure(answer) });
      }
      // A `Retry-After` holds for this machine's list alone: the others may be read.
      return backOffMs(this.failures, BACK_OFF);
    }
    if (this.failures > 0) this.logger.log({ msg: 'reasons are read again' });
    this.failures = 0;
    return this.restMs;
  }

  /** Logs a bug with one machine; the others are refreshed all the same. */
  private logFault(error: unknown, machineId: string): number {
    if (!this.stopping.signal.aborted) {
      this.logger.error({ msg: 'not refreshed', machineId, err: error });
    }
    return this.restMs;
  }
}
