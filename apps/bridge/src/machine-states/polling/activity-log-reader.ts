import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import {
  type ActivityLogEntry,
  type Caller,
  type HttpAnswer,
  type IncompleteEntries,
  MachineCloudClient,
} from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { describeFailure, PassedOverEntries } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { LONGEST_WINDOW_SECONDS } from '../derivation/activity-log.js';
import { type AdmittedCall, StandstillBreaker } from './standstill-breaker.js';

type EntriesAnswer = HttpAnswer<ActivityLogEntry[]>;

/** Share of the polls under way that may read a log whose latest read failed. */
const FAILING_SHARE = 1 / 8;

/**
 * Reads a machine's activity log for a period of any length. Polls wait for it: while nobody's log is answered, and
 * while logs that failed before take their share of the polls, a read fails without being asked for, or
 * each would take its time before the next.
 */
@Injectable()
export class ActivityLogReader {
  private readonly logger = new Logger('MachineStates');
  private readonly breaker = new StandstillBreaker();
  private readonly behind = new Set<string>();
  private readonly incomplete = new PassedOverEntries('activityLog');
  private readonly mostFailing: number;
  private failingUnderWay = 0;
  private latest: Extract<EntriesAnswer, { kind: 'retry' }> | undefined;

  constructor(
    private readonly client: MachineCloudClient,
    @Inject(BRIDGE_SETTINGS) { machineCloud }: Pick<BridgeSettings, 'machineCloud'>,
    private readonly clock: Clock,
  ) {
    this.mostFailing = Math.max(1, Math.floor(machineCloud.maxConcurrency * FAILING_SHARE));
  }

  /** How many machines' logs do not say all that they should by now. */
  get behindMachines(): number {
    return this.behind.size;
  }

  /** The log of the machine was refused, or lags by more than it takes to settle. */
  markBehind(machineId: string, why: string): void {
    if (this.behind.size === 0) {
      this.logger.warn({ msg: 'activity log is behind', machineId, why });
    }
    this.behind.add(machineId);
  }

  markComplete(machineId: string): void {
    if (this.behind.delete(machineId) && this.behind.size === 0) {
      this.logger.log({ msg: 'activity logs are complete again' });
    }
  }

  /** The machine is no longer watched. */
  forget(machineId: string): void {
    this.behind.delete(machineId);
    this.incomplete.forget(machineId);
  }

  /** Entries of all windows, `noData` if none, or the first other answer. `hasFailed`: the latest read came to nothing. */
  async read(
    machineId: string,
    from: number,
    to: number,
    caller: Caller,
    hasFailed = false,
  ): Promise<EntriesAnswer> {
    const hasRoom = !hasFailed || this.failingUnderWay < this.mostFailing;
    const call = hasRoom ? this.breaker.begin(this.clock.realMs, hasFailed) : undefined;
    if (call === undefined) {
      // As the latest read that failed: one that is not made comes after such a one.
      if (this.latest === undefined) throw new Error('no log has failed, and yet none is read');
      return { ...this.latest, afterMs: null };
    }
    if (hasFailed) this.failingUnderWay += 1;
    let answer: EntriesAnswer | undefined;
    try {
      answer = await this.readAll(machineId, from, to, caller);
      return answer;
    } finally {
      if (hasFailed) this.failingUnderWay -= 1;
      this.end(call, answer);
    }
  }

  private async readAll(
    machineId: string,
    from: number,
    to: number,
    caller: Caller,
  ): Promise<EntriesAnswer> {
    const entries: ActivityLogEntry[] = [];
    let incomplete: IncompleteEntries | undefined;
    const windows = activityWindows(from, to);
    // What is empty beside windows with entries is asked for once more: one odd answer would lose a month.
    for (let asked = 0, left = windows; asked < 2 && left.length > 0; asked += 1) {
      const empty: typeof windows = [];
      for (const window of left) {
        const answer = await this.client.getMachineActivityLog({ machineId, ...window }, caller);
        if (answer.kind === 'data' && answer.data.length > 0) {
          entries.push(...answer.data);
          incomplete ??= answer.incomplete;
        } else if (answer.kind === 'data' || answer.kind === 'noData') empty.push(window);
        else return answer;
      }
      if (entries.length === 0) return { kind: 'noData' };
      left = empty;
    }
    this.incomplete.note(machineId, incomplete);
    return { kind: 'data', data: entries };
  }

  /** A log that is refused is an answer: there is nothing to wait for. */
  private end(call: AdmittedCall, answer: EntriesAnswer | undefined): void {
    if (answer?.kind === 'retry') {
      this.latest = answer;
      if (this.breaker.end(call, 'failed', this.clock.realMs) !== 'opened') return;
      this.logger.warn({ msg: 'activity logs pause', why: describeFailure(answer) });
    } else {
      const end = answer === undefined ? 'void' : 'answered';
      if (this.breaker.end(call, end, this.clock.realMs) !== 'closed') return;
      this.logger.log({ msg: 'activity logs are read again' });
    }
  }
}

/** Splits a period into windows the service answers for, oldest first; they touch. Epoch seconds. */
export function activityWindows(
  from: number,
  to: number,
): { startTime: number; endTime: number }[] {
  const windows: { startTime: number; endTime: number }[] = [];
  for (let startTime = from; startTime < to; startTime += LONGEST_WINDOW_SECONDS) {
    windows.push({ startTime, endTime: Math.min(startTime + LONGEST_WINDOW_SECONDS, to) });
  }
  return windows;
}
