import { Injectable, Logger } from '@nestjs/common';
import { type ActivityLogEntry, type CloudAnswer, MachineCloudClient } from '#libs/cloud-client';
import { describeFailure } from '../../machine-directory/index.js';
import { activityWindows } from './activity-windows.js';
import { MachineCalls } from './machine-calls.js';

type LogAnswer = Exclude<CloudAnswer<ActivityLogEntry[]>, { kind: 'noData' }>;

/**
 * Reads a machine's activity log for a period of any length. Polls wait for it: while nobody's log is
 * answered, most are told so without being asked for, or each would take its time before the next.
 */
@Injectable()
export class ActivityLogReader {
  private readonly logger = new Logger('MachineStates');
  private readonly calls = new MachineCalls();
  private latest: Extract<LogAnswer, { kind: 'retry' }> | undefined;

  constructor(private readonly client: MachineCloudClient) {}

  /** The entries of all windows one after the other, or the first answer that is neither data nor 204. */
  async read(machineId: string, from: number, to: number, signal: AbortSignal): Promise<LogAnswer> {
    if (!this.calls.begin(machineId) && this.latest !== undefined) {
      return { ...this.latest, afterMs: null };
    }
    try {
      const answer = await this.readAll(machineId, from, to, signal);
      this.note(machineId, answer);
      return answer;
    } finally {
      this.calls.end(machineId);
    }
  }

  private async readAll(
    machineId: string,
    from: number,
    to: number,
    signal: AbortSignal,
  ): Promise<LogAnswer> {
    const entries: ActivityLogEntry[] = [];
    for (const window of activityWindows(from, to)) {
      const answer = await this.client.getMachineActivityLog({ machineId, ...window }, signal);
      if (answer.kind === 'data') entries.push(...answer.data);
      else if (answer.kind !== 'noData') return answer;
    }
    return { kind: 'data', data: entries };
  }

  /** A log that is refused is an answer: there is nothing to wait for. */
  private note(machineId: string, answer: LogAnswer): void {
    if (answer.kind === 'retry') {
      this.latest = answer;
      if (!this.calls.failed(machineId, answer)) return;
      this.logger.warn({ msg: 'activity logs pause', why: describeFailure(answer) });
    } else if (this.calls.answered()) {
      this.logger.log({ msg: 'activity logs are read again' });
    }
  }
}
