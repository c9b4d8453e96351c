import { parsed, readEpochSeconds, rejected, type JsonObject, type Parsed } from '#libs/contracts';

/** `<name>_unix_ms` in milliseconds, as its name says, or `<name>` in RFC 3339, as epoch seconds. */
export function readUmhTime(
  message: JsonObject,
  name: 'start_time' | 'end_time',
): Parsed<number | undefined> {
  const milliseconds = message[`${name}_unix_ms`] ?? undefined;
  const field = milliseconds === undefined ? name : `${name}_unix_ms`;
  const value = milliseconds ?? message[name] ?? undefined;
  if (value === undefined || value === '') return parsed(undefined);
  if (milliseconds !== undefined && !Number.isSafeInteger(milliseconds)) {
    return rejected('invalid-message', `${field} must be whole milliseconds`);
  }
  const reading = readEpochSeconds(
    typeof milliseconds === 'number' ? Math.floor(milliseconds / 1000) : value,
  );
  return reading.ok
    ? parsed(reading.seconds)
    : rejected('invalid-message', `${field} ${reading.problem}`);
}
