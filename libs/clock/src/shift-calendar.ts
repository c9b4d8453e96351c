import { epochSecondsOf, offsetSeconds } from '#libs/contracts';

export interface Shift {
  /** Epoch seconds; the end is the start of the next shift. */
  startTime: number;
  endTime: number;
  /** Position among the shifts of its day, from 0. */
  index: number;
  /** Local day of the week on which it starts, 0 is Sunday. */
  weekday: number;
}

const DAYS_REMEMBERED = 128;

/** The plant's shifts: each lasts from its start time to the next one, seven days a week. */
export class ShiftCalendar {
  private readonly startSeconds: number[];
  private readonly startsOfDay = new Map<number, Shift[]>();

  /** `startTimes` are local times of day such as `06:00`. */
  constructor(private readonly settings: { timeZone: string; startTimes: readonly string[] }) {
    this.startSeconds = [...new Set(settings.startTimes.map(secondsOfDay))].sort((a, b) => a - b);
  }

  get shiftsPerDay(): number {
    return this.startSeconds.length;
  }

  /** The shift in progress at `time` (epoch seconds). */
  shiftAt(time: number): Shift {
    const day = localDayOf(time, this.settings.timeZone);
    // The night shift began the day before, or two days before if the zone skipped one, as Samoa did at the date line.
    // A change of the clocks can move a start across midnight.
    for (const candidate of [day, day - 1, day + 1, day - 2]) {
      const shift = this.shiftsOf(candidate).find((s) => s.startTime <= time && time < s.endTime);
      if (shift) return shift;
    }
    throw new RangeError(`no shift at ${time}`);
  }

  private shiftsOf(day: number): Shift[] {
    const known = this.startsOfDay.get(day);
    if (known) return known;
    const starts = [...this.startsOn(day), ...this.startsOn(day + 1).slice(0, 1)];
    const shifts = this.startSeconds.map((_, index) => ({
      startTime: starts[index] ?? 0,
      endTime: starts[index + 1] ?? 0,
      index,
      // day 0 of the epoch was a Thursday
      weekday: (((day + 4) % 7) + 7) % 7,
    }));
    if (this.startsOfDay.size >= DAYS_REMEMBERED) this.startsOfDay.clear();
    this.startsOfDay.set(day, shifts);
    return shifts;
  }

  private startsOn(day: number): number[] {
    const date = { year: 1970, month: 1, day: day + 1, hour: 0, minute: 0 };
    return this.startSeconds.map((second) =>
      epochSecondsOf({ ...date, second }, this.settings.timeZone),
    );
  }
}

function secondsOfDay(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 3600 + minutes * 60;
}

const SECONDS_OF_DAY = 86_400;

/** The local calendar day of a moment, as days since 1970-01-01. */
function localDayOf(epochSeconds: number, timeZone: string): number {
  return Math.floor((epochSeconds + offsetSeconds(epochSeconds, timeZone)) / SECONDS_OF_DAY);
}
