import type { Language } from './strings.js';

/** Times in the plant's zone and spans of time, as an operator says them. */
export interface Formats {
  /** 14:07 */
  time: (epochSeconds: number) => string;
  /** 14:07, with the day before it where that is not the day of `now`: Tue 14:07 */
  timeOn: (epochSeconds: number, now: number) => string;
  /** Tue 24 Nov */
  day: (epochSeconds: number) => string;
  /** 16 min, 1 h 04 min */
  span: (seconds: number) => string;
}

export function createFormats(language: Language, timeZone: string): Formats {
  const locale = language === 'de' ? 'de-DE' : 'en-GB';
  const make = (options: Intl.DateTimeFormatOptions): ((epochSeconds: number) => string) => {
    const format = new Intl.DateTimeFormat(locale, { timeZone, ...options });
    return (epochSeconds) => format.format(epochSeconds * 1000);
  };
  const time = make({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const weekday = make({ weekday: 'short' });
  const date = make({ year: 'numeric', month: 'numeric', day: 'numeric' });
  return {
    time,
    timeOn: (at, now) => (date(at) === date(now) ? time(at) : `${weekday(at)} ${time(at)}`),
    day: make({ weekday: 'short', day: 'numeric', month: 'short' }),
    span: spanText,
  };
}

function spanText(seconds: number): string {
  const minutes = Math.max(0, Math.floor(seconds / 60));
  if (minutes < 60) return `${String(minutes)}\u00a0min`;
  return `${String(Math.floor(minutes / 60))}\u00a0h ${String(minutes % 60).padStart(2, '0')}\u00a0min`;
}
