import { type MachineState, STATE_EVENT_TYPES, type StateChanged } from '#libs/contracts';
import { header, json, type ReadRecord } from '../topic-reader.js';

const MINUTE = 60;

/** A period of one state as it can be billed: epoch seconds of whole minutes; `endTime` is the first minute after it. */
export interface TimelinePeriod {
  state: MachineState;
  startTime: number;
  endTime: number;
}

/** A period as a subscriber knows it: the latest event about it. */
export interface PublishedPeriod extends StateChanged {
  /** The end of the previous period, if there is no data between it and this one. */
  previousEndTime?: number;
}

/**
 * The timeline that a machine's events describe: without overlap, in order of time, the last period open (Infinity).
 * The service does not know seconds within a minute.
 *
 * @param records of one machine from `machine.state-changes.v1`, in their order; losses and returns are ignored
 * @throws Error when a correction names an event that is not current
 */
export function foldStates(records: readonly ReadRecord[]): TimelinePeriod[] {
  const published = standingPeriods(records);
  const periods = published.map(({ state, startTime }, index): TimelinePeriod => {
    const next = published[index + 1];
    const endTime = next === undefined ? Infinity : (next.previousEndTime ?? next.startTime);
    return { state, startTime: wholeMinute(startTime), endTime: wholeMinute(endTime) };
  });
  return merged(periods.filter(({ startTime, endTime }) => startTime < endTime));
}

/** Periods whose event names another previous period than the actual one, as text. */
export function brokenLinks(records: readonly ReadRecord[]): string[] {
  const published = standingPeriods(records);
  return published.flatMap((period, index) => {
    const { machineId, state, startTime, previousState, previousStartTime } = period;
    const before = published[index - 1];
    const isLinked =
      previousState === (before?.state ?? null) &&
      previousStartTime === (before?.startTime ?? null) &&
      startTime > (before?.startTime ?? -Infinity);
    if (isLinked) return [];
    const claimed = `${String(previousState)} of ${String(previousStartTime)}`;
    const found = before === undefined ? 'none' : `${before.state} of ${before.startTime}`;
    return [`${machineId}: ${state} of ${startTime} names ${claimed} the previous, not ${found}`];
  });
}

/** Each period by its latest event, see {@link StandingPeriods.list}. */
export function standingPeriods(records: readonly ReadRecord[]): PublishedPeriod[] {
  const standing = new StandingPeriods();
  for (const record of records) standing.applyEvent(record);
  return standing.list;
}

/** A subscriber's knowledge of one machine, event by event. */
export class StandingPeriods {
  private readonly standing = new Map<string, PublishedPeriod>();

  /** @throws Error when a correction names an event that is not current */
  applyEvent(record: ReadRecord): void {
    const eventId = header(record, 'ce_id') ?? '';
    const type = header(record, 'ce_type');
    if (type !== STATE_EVENT_TYPES.changed && type !== STATE_EVENT_TYPES.corrected) return;
    const { corrects, ...period } = json(record) as unknown as PublishedPeriod & {
      corrects?: string;
    };
    if (corrects !== undefined && !this.standing.delete(corrects)) {
      throw new Error(`${period.machineId}: ${eventId} corrects ${corrects}, which does not stand`);
    }
    this.standing.set(eventId, period);
  }

  /**
   * The periods in order of time. A period that was published by mistake is corrected to repeat its predecessor and
   * lasts no time; it is left out.
   */
  get list(): PublishedPeriod[] {
    return [...this.standing.values()]
      .filter((it) => it.state !== it.previousState || it.startTime !== it.previousStartTime)
      .sort((a, b) => a.startTime - b.startTime);
  }
}

function merged(periods: readonly TimelinePeriod[]): TimelinePeriod[] {
  const timeline: TimelinePeriod[] = [];
  for (const period of periods) {
    const last = timeline.at(-1);
    if (last?.state === period.state && last.endTime >= period.startTime) {
      last.endTime = period.endTime;
    } else timeline.push(period);
  }
  return timeline;
}

function wholeMinute(time: number): number {
  return Math.floor(time / MINUTE) * MINUTE;
}
