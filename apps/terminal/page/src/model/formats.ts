import type { Language } from './strings.js';

/** Times in the plant's zone and durations, in the operator's language. */
export interface Formats {
  /** 14:07; 02:30 CEST in the hour that clocks repeat in autumn */
  time: (epochSeconds: number) => string;
  /** 14:07 on the day of `now`; otherwise with its day, Tue 14:07, or its date in another week, Tue 24 Nov 14:07 */
  timeOn: (epochSeconds: number, now: number) => string;
  /** 13:11–13:36; on another day than that of `now` with its days: Sun 22:07–23:07, Sun 23:30–Mon 00:10 */
  range: (startTime: number, endTime: number, now: number) => string;
  /** Tue 24 Nov */
  day: (epochSeconds: number) => string;
  /** 16 min, 1 h 04 min */
  span: (seconds: number) => string;
}

const MAX_KNOWN = 5_000;
const HOUR = 3600;
/** Within this time the day of the week is unambiguous. */
const WEEKDAY_SECONDS = 6 * 86_400;

export function createFormats(language: Language, timeZone: string): Formats {
  const locale = language === 'de' ? 'de-DE' : 'en-GB';
  const zone = isKnown(timeZone) ? timeZone : undefined;
  const make = (options: Intl.DateTimeFormatOptions): ((epochSeconds: number) => string) => {
    const format = new Intl.DateTimeFormat(locale, { timeZone: zone, ...options });
    return byMinute((minute) => format.format(minute * 60_000));
  };
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const [shortTime, timeAndZone] = [make(clock), make({ ...clock, timeZoneName: 'short' })];
  const isRepeated = (at: number): boolean =>
    [at - HOUR, at + HOUR].some((other) => shortTime(other) === shortTime(at));
  const time = (at: number): string => (isRepeated(at) ? timeAndZone : shortTime)(at);
  const weekday = make({ weekday: 'short' });
  const date = make({ year: 'numeric', month: 'numeric', day: 'numeric' });
  const day = make({ weekday: 'short', day: 'numeric', month: 'short' });
  const timeOn = (at: number, now: number): string => {
    if (date(at) === date(now)) return time(at);
    return `${Math.abs(now - at) < WEEKDAY_SECONDS ? weekday(at) : day(at)} ${time(at)}`;
  };
  return {
    time,
    timeOn,
    range: (startTime, endTime, now) =>
      `${timeOn(startTime, now)}\u2013${timeOn(endTime, startTime)}`,
    day,
    span: spanText,
  };
}

/** A browser does not know zones that are newer than itself; the device's zone then takes their place. */
function isKnown(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** Caches texts by minute: formatting takes microseconds, and a wall of 500 tiles needs thousands of texts. */
function byMinute(textOf: (minute: number) => string): (epochSeconds: number) => string {
  const known = new Map<number, string>();
  return (epochSeconds) => {
    const minute = Math.floor(epochSeconds / 60);
    const text = known.get(minute) ?? textOf(minute);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(minute, text);
    return text;
  };
}

function spanText(seconds: number): string {
  const minutes = Math.max(0, Math.floor(seconds / 60));
  if (minutes < 60) return `${String(minutes)}\u00a0min`;
  return `${String(Math.floor(minutes / 60))}\u00a0h ${String(minutes % 60).padStart(2, '0')}\u00a0min`;
}
