import type { ActivityLogEntry, MachineStateReading } from '#libs/cloud-client';
import type { MachineState } from '#libs/contracts';

export const MINUTE = 60;
const T0 = 1_763_680_020;
export const SETTLE_SECONDS = 300;

/** The true state in each minute; null is no data. */
export type Timeline = (MachineState | null)[];

/** The service's first version of a minute, and for how many minutes after its calculation it stays. */
export interface Mistake {
  minute: number;
  state: MachineState | null;
  minutes: number;
}

/** How the service answers one poll. */
export interface Conditions {
  /** The latest minute it has calculated. */
  minute: number;
  /** Minutes by which the duration is off. */
  jitter: number;
  /** Minutes the log knows beyond the reading; negative when it lags behind. */
  logLead: number;
  /** Whether a log that lags by less than SETTLE_SECONDS extends the previous state over the minutes that it lacks. */
  isLogProvisional: boolean;
  isClipped: boolean;
  isShuffled: boolean;
  /** Minutes per page of entries: an entry that lasts longer is cut, and is whole in its last page. */
  pageMinutes: number | null;
}

interface Run {
  state: MachineState;
  firstMinute: number;
  lastMinute: number;
}

export const timeOf = (minute: number): number => T0 - (T0 % MINUTE) + minute * MINUTE;

/** A service with this history, which it learns late and partly revises. */
export class SimulatedService {
  constructor(
    private readonly truth: Timeline,
    private readonly mistakes: readonly Mistake[],
    /** Whether an update's time is the beginning or the end of its minute, and its offset. */
    private readonly update: { isMinuteEnd: boolean; phaseSeconds: number },
    private readonly settleSeconds = SETTLE_SECONDS,
    /** Changes of its clock in seconds, by minute. */
    private readonly clockSet: readonly { minute: number; seconds: number }[] = [],
  ) {}

  updateTime(minute: number): number {
    return timeOf(this.update.isMinuteEnd ? minute + 1 : minute) + this.update.phaseSeconds;
  }

  /** Offset of its clock at that time, in seconds. */
  private offset(minute: number): number {
    return this.clockSet.reduce((sum, it) => (it.minute <= minute ? sum + it.seconds : sum), 0);
  }

  /** Null is 204. */
  reading({ minute, jitter }: Conditions): MachineStateReading | null {
    const run = runsOf(this.known(minute)).at(-1);
    if (run?.lastMinute !== minute) return null;
    const minutes = Math.floor((this.updateTime(minute) - timeOf(run.firstMinute)) / MINUTE);
    return {
      state: run.state,
      durationInMinutes: Math.max(0, minutes + jitter),
      lastUpdateTime: this.updateTime(minute) + this.offset(minute),
    };
  }

  log(from: number, conditions: Conditions): ActivityLogEntry[] {
    const { minute, logLead, isLogProvisional, isClipped, isShuffled, pageMinutes } = conditions;
    const runs = runsOf(this.known(minute, logLead));
    const last = runs.at(-1);
    const isLate = logLead < 0 && logLead * MINUTE > -this.settleSeconds;
    if (isLogProvisional && isLate && last?.lastMinute === minute + logLead) {
      last.lastMinute = minute;
    }
    const entries = runs
      .map(({ state, firstMinute, lastMinute }) => ({
        state,
        startTime: timeOf(firstMinute) + this.offset(firstMinute),
        endTime: timeOf(lastMinute + 1) + this.offset(lastMinute),
      }))
      .filter(({ startTime, endTime }) => endTime > Math.max(startTime, from))
      .map((it) => ({ ...it, startTime: isClipped ? Math.max(it.startTime, from) : it.startTime }));
    const paged =
      pageMinutes === null ? entries : entries.flatMap((it) => inPages(it, pageMinutes));
    return isShuffled ? paged.reverse() : paged;
  }

  /** Its version of the minutes up to `minute + lead` once it has calculated `minute`. */
  private known(minute: number, lead = 0): Timeline {
    const known = this.truth.slice(0, Math.max(0, minute + lead + 1));
    const latest = minute + Math.max(lead, 0);
    for (const mistake of this.mistakes) {
      const isStanding = latest < mistake.minute + mistake.minutes;
      if (isStanding && mistake.minute < known.length) known[mistake.minute] = mistake.state;
    }
    return known;
  }
}

function inPages(entry: ActivityLogEntry, pageMinutes: number): ActivityLogEntry[] {
  const entries = [entry];
  const step = pageMinutes * MINUTE;
  for (let start = entry.startTime + step; start < entry.endTime; start += step) {
    entries.unshift({ ...entry, startTime: start - step, endTime: start });
  }
  return entries;
}

function runsOf(timeline: Timeline): Run[] {
  const runs: Run[] = [];
  for (const [minute, state] of timeline.entries()) {
    const last = runs.at(-1);
    if (state === null) continue;
    if (last?.state === state && last.lastMinute === minute - 1) last.lastMinute = minute;
    else runs.push({ state, firstMinute: minute, lastMinute: minute });
  }
  return runs;
}
