import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { Clock, realDelayMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { describeFailure } from './directory-answer.js';
import { ReasonLists } from './reason-lists.js';
import { ReasonRecords } from './reason-records.js';

const AT_ONCE = 4;
/** Each of them rests for so long: forty look-ups a second at most, whatever the number of machines. */
const REST_MS = 100;
/** Refreshing takes no more of a rate limit: polls and look-ups that a message waits for have the rest. */
const SHARE = 1 / 5;
const TAKEN_UP_AT_ONCE = 256;
const BACK_OFF = { baseMs: 5000, capMs: 300_000 };

/** Keeps published reasons no older than `REASONS_REFRESH_SECONDS`, a few machines at a time. */
@Injectable()
export class ReasonRefresh implements BeforeApplicationShutdown {
  private readonly logger = new Logger('ReasonRefresh');
  private readonly stopping = new AbortController();
  private readonly waiting = new Set<string>();
  /** The first of those that wait, the very first last. */
  private readonly upNext: string[] = [];
  private readonly underWay = new Set<string>();
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
    this.restMs = Math.max(REST_MS, (AT_ONCE * 1000) / (maxRequestsPerSecond * SHARE));
  }

  /** Has the machine's reasons read when that was long ago. */
  remind(machineId: string): void {
    if (this.stopping.signal.aborted || this.underWay.has(machineId)) return;
    const readAt = this.records.readAt(machineId) ?? -Infinity;
    if (this.clock.nowSeconds() - readAt < this.settings.reasonsRefreshSeconds) return;
    this.waiting.add(machineId);
    if (this.workers < AT_ONCE) void this.work();
  }

  /** The machine is gone, or another process's: queued again, its reasons are published whatever was before. */
  forget(machineId: string): void {
    this.waiting.delete(machineId);
    this.underWay.delete(machineId);
    this.records.forget(machineId);
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
    this.waiting.clear();
  }

  private async work(): Promise<void> {
    this.workers += 1;
    for (let next = this.next(); next !== undefined; next = this.next()) {
      this.underWay.add(next);
      const restMs = await this.refresh(next).catch((error: unknown) => this.logFault(error, next));
      await realDelayMs(restMs, this.stopping.signal).catch(() => undefined);
    }
    this.workers -= 1;
  }

  /**
   * The machine that has waited longest, which does so no more. Taken from the set by the hundred: an iterator that is
   * kept while a hundred thousand come and go keeps all the tables that the set has ever had, 10 MB of them, and a
   * new one walks past all that have gone.
   */
  private next(): string | undefined {
    for (;;) {
      const next = this.upNext.pop();
      if (next === undefined) {
        if (this.waiting.size === 0) return undefined;
        this.takeUp();
      } else if (this.waiting.delete(next)) return next;
    }
  }

  private takeUp(): void {
    for (const machineId of this.waiting) {
      this.upNext.push(machineId);
      if (this.upNext.length === TAKEN_UP_AT_ONCE) break;
    }
    this.upNext.reverse();
  }

  /** Returns the real milliseconds to rest for. */
  private async refresh(machineId: string): Promise<number> {
    const answer = await this.lists.refresh(machineId, this.stopping.signal).finally(() => {
      // What was read of a machine that was forgotten meanwhile must not be remembered either.
      if (!this.underWay.delete(machineId)) this.records.forget(machineId);
    });
    if (answer.kind === 'retry' || answer.kind === 'unauthorised') {
      this.failures += 1;
      if (this.failures === 1) {
        this.logger.warn({ msg: 'reasons not read', machineId, why: describeFailure(answer) });
      }
      // What the service has asked of one machine's list is kept there: the others may be read.
      return backOffMs(this.failures, BACK_OFF);
    }
    if (this.failures > 0) this.logger.log({ msg: 'reasons are read again' });
    this.failures = 0;
    return this.restMs;
  }

  /** A defect that one machine brings to light is no reason to leave the others unread. */
  private logFault(error: unknown, machineId: string): number {
    if (!this.stopping.signal.aborted) {
      this.logger.error({ msg: 'not refreshed', machineId, err: error });
    }
    return this.restMs;
  }
}
