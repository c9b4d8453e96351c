import { type CloudAnswer } from '#libs/cloud-client';
import { type LogRequest } from '../derivation/activity-log-need.js';
import { type ActivityLog } from '../derivation/logged-periods.js';
import { type WatchContext } from './watch-context.js';

export type LogAnswer = { kind: 'data'; log: ActivityLog } | LogFailure;
type LogFailure = Extract<CloudAnswer<never>, { kind: 'retry' }>;

/** The activity log of one machine, and since when it is missed. */
export class MachineLog {
  private missingSince: number | null = null;

  constructor(
    private readonly machineId: string,
    private readonly context: WatchContext,
  ) {}

  /** A log that is refused, as by a token that may not read it, is as good as one that says nothing. */
  async read(request: LogRequest, signal: AbortSignal): Promise<LogAnswer> {
    const { from, to, isForNews } = request;
    const answer = await this.context.activityLog.read(this.machineId, from, to, signal);
    if (answer.kind === 'retry') return answer;
    this.context.metrics.logRead(isForNews ? 'news' : 'confirmation');
    this.isNotMissed();
    return {
      kind: 'data',
      log: { ...request, entries: answer.kind === 'data' ? answer.data : [] },
    };
  }

  /** Exact starts and missed changes are worth a delay, but not an endless one. */
  isWorthWaitingFor(): boolean {
    const { clock, settings } = this.context;
    const now = clock.nowSeconds();
    this.missingSince ??= now;
    return now - this.missingSince <= settings.polling.staleAfterSeconds;
  }

  /** The machine's turn had no use for it: when it is missed again, it is worth as long a delay again. */
  isNotMissed(): void {
    this.missingSince = null;
  }
}
