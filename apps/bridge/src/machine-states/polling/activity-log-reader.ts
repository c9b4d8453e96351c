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

/** Maximum share of concurrent polls that may read a log whose latest read failed. */
const FAILING_SHARE = 1 / 8;

/**
 * Reads a machine's activity log for a period of any length. Polls wait for it, so that slow failures would delay the
 * other polls. A read therefore fails without a call while the service answers no log, or while logs that failed
 * before use up their share of the polls.
 */
@Injectable()
export class ActivityLogReader {
  private readonly logger = new Logger('MachineStates');
  private readonly breaker = new StandstillBreaker();
  private readonly behind = new Set<string>();
  private readonly incomplete = new PassedOverEntries('activityLog');
  private readonly maxFailing: number;
  private failingUnderWay = 0;
  private latestFailure: Extract<EntriesAnswer, { kind: 'retry' }> | undefined;

  constructor(
    private readonly client: MachineCloudClient,
    @Inject(BRIDGE_SETTINGS) { machineCloud }: Pick<BridgeSettings, 'machineCloud'>,
    private readonly clock: Clock,
  ) {
    this.maxFailing = Math.max(1, Math.floor(machineCloud.maxConcurrency * FAILING_SHARE));
  }

  /** Number of machines whose logs are refused, fail or lag too far. */
  get behindMachines(): number {
    return this.behind.size;
  }

  /** Records that the machine's log was refused, failed, or lags by more than `SETTLE_SECONDS`. */
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

  forgetLog(machineId: string): void {
    this.behind.delete(machineId);
    this.incomplete.forgetList(machineId);
  }

  /** Entries of all windows, `noData` if none, or the first other answer. `hasFailed`: the latest read failed. */
  async readWindows(
    machineId: string,
    from: number,
    to: number,
    caller: Caller,
    hasFailed = false,
  ): Promise<EntriesAnswer> {
    const hasRoom = !hasFailed || this.failingUnderWay < this.maxFailing;
    const call = hasRoom ? this.breaker.admitCall(this.clock.realMs, hasFailed) : undefined;
    if (call === undefined) {
      // A read that is not made fails like the latest one that failed; there always is one.
      if (this.latestFailure === undefined)
        throw new Error('no log has failed, and yet none is read');
      return { ...this.latestFailure, afterMs: null };
    }
    if (hasFailed) this.failingUnderWay += 1;
    let answer: EntriesAnswer | undefined;
    try {
      answer = await this.callForWindows(machineId, from, to, caller);
      return answer;
    } finally {
      if (hasFailed) this.failingUnderWay -= 1;
      this.endRead(call, answer);
    }
  }

  private async callForWindows(
    machineId: string,
    from: number,
    to: number,
    caller: Caller,
  ): Promise<EntriesAnswer> {
    const entries: ActivityLogEntry[] = [];
    let incomplete: IncompleteEntries | undefined;
    const windows = activityWindows(from, to);
    // An empty window beside windows with entries is read once more: one odd answer would lose a month.
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
    this.incomplete.recordList(machineId, incomplete);
    return { kind: 'data', data: entries };
  }

  /** Records the end of a read. A refusal counts as an answer: there is nothing to wait for. */
  private endRead(call: AdmittedCall, answer: EntriesAnswer | undefined): void {
    if (answer?.kind === 'retry') {
      this.latestFailure = answer;
      if (this.breaker.endCall(call, 'failed', this.clock.realMs) !== 'opened') return;
      this.logger.warn({ msg: 'activity logs pause', why: describeFailure(answer) });
    } else {
      const end = answer === undefined ? 'void' : 'answered';
      if (this.breaker.endCall(call, end, this.clock.realMs) !== 'closed') return;
      this.logger.log({ msg: 'activity logs are read again' });
    }
  }
}

/** Splits a period into adjacent windows that the service answers for, oldest first. Epoch seconds. */
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
