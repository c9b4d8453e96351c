import { offsetSeconds } from '#libs/erp-formats';

/** What clocks in an IANA zone show at an instant (epoch seconds), with their offset from UTC: RFC 3339. */
export type ZoneClock = (epochSeconds: number) => string;

export function clockIn(timeZone: string): ZoneClock {
  return (epochSeconds) => {
    const offset = offsetSeconds(epochSeconds, timeZone);
    const shown = new Date((epochSeconds + offset) * 1000).toISOString().replace(/\.\d+Z$/, '');
    return `${shown}${offsetText(Math.trunc(offset / 60))}`;
  };
}

function offsetText(minutes: number): string {
  if (minutes === 0) return 'Z';
  const digits = (value: number): string => String(Math.trunc(value)).padStart(2, '0');
  const ahead = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${digits(ahead / 60)}:${digits(ahead % 60)}`;
}
