/** What clocks in an IANA zone show at an instant (epoch seconds), with their offset from UTC: RFC 3339. */
export type ZoneClock = (epochSeconds: number) => string;

/** For many instants: building a formatter costs a hundred times what using it does. */
export function clockIn(timeZone: string): ZoneClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  });
  return (epochSeconds) => {
    const parts = new Map(
      format.formatToParts(epochSeconds * 1000).map(({ type, value }) => [type, value]),
    );
    const join = (types: Intl.DateTimeFormatPartTypes[], separator: string) =>
      types.map((type) => parts.get(type)).join(separator);
    const offset = parts.get('timeZoneName')?.replace('GMT', '') ?? '';
    return [
      join(['year', 'month', 'day'], '-'),
      'T',
      join(['hour', 'minute', 'second'], ':'),
      // Versions of the runtime differ in whether UTC has an offset.
      offset === '' || offset === '+00:00' ? 'Z' : offset,
    ].join('');
  };
}
