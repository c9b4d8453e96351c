import { Injectable } from '@nestjs/common';
import { type ActivityLogEntry, type CloudAnswer, MachineCloudClient } from '#libs/cloud-client';
import { activityWindows } from './activity-windows.js';

type LogAnswer = Exclude<CloudAnswer<ActivityLogEntry[]>, { kind: 'noData' }>;

/** Reads a machine's activity log for a period of any length. */
@Injectable()
export class ActivityLogReader {
  constructor(private readonly client: MachineCloudClient) {}

  /** The entries of all windows one after the other, or the first answer that is neither data nor 204. */
  async read(machineId: string, from: number, to: number, signal: AbortSignal): Promise<LogAnswer> {
    const entries: ActivityLogEntry[] = [];
    for (const window of activityWindows(from, to)) {
      const answer = await this.client.getMachineActivityLog({ machineId, ...window }, signal);
      if (answer.kind === 'data') entries.push(...answer.data);
      else if (answer.kind !== 'noData') return answer;
    }
    return { kind: 'data', data: entries };
  }
}
