/** Look-ups of the machine list never overlap. */
const MACHINE_LIST_LOOK_UPS_AT_ONCE = 1;

/**
 * Calls of the service that may be under way together, whoever makes them. Each has a connection, so that what
 * hangs holds up nothing else. Commands and polls each have as many as the setting says.
 */
export function callsAtOnce(maxConcurrency: number): number {
  const [commands, polls] = [maxConcurrency, maxConcurrency];
  return commands + polls + reasonLookUpsAtOnce(maxConcurrency) + MACHINE_LIST_LOOK_UPS_AT_ONCE;
}

/**
 * After a start a machine's first reason waits for its list. With 16 look-ups at a time, whatever the setting said,
 * 1,000 machines took more than a second of it; fewer would be slower than the calls that wait for them.
 */
export function reasonLookUpsAtOnce(maxConcurrency: number): number {
  return Math.max(16, Math.ceil(maxConcurrency / 2));
}
