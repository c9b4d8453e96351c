const SECONDS_OF_DAY = 86_400;

/** The local calendar day of a moment, as days since 1970-01-01. */
export function localDayOf(epochSeconds: number, timeZone: string): number {
  return Math.floor((epochSeconds + offsetSeconds(epochSeconds, timeZone)) / SECONDS_OF_DAY);
}

/** The moment at which clocks in `timeZone` show `seconds` since midnight on the given local day. */
export function localTimeToEpoch(day: number, seconds: number, timeZone: string): number {
  const wanted = day * SECONDS_OF_DAY + seconds;
  const guess = wanted - offsetSeconds(wanted, timeZone);
  // the offset at the guess is right except in the hours around a change of the clocks
  return wanted - offsetSeconds(guess, timeZone);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetSeconds(epochSeconds: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0;
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(epochSeconds * 1000)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  const shown = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return shown / 1000 - epochSeconds;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(timeZone, format);
  }
  return format;
}
