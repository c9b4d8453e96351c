/** After a start every machine's list of reasons is asked for. */
export const REASON_LOOK_UPS_AT_ONCE = 16;
/** Look-ups of the machine list never overlap. */
const MACHINE_LIST_LOOK_UPS_AT_ONCE = 1;

/**
 * Calls of the service that may be under way together, whoever makes them. Each has a connection, so that what
 * hangs holds up nothing else. Commands and polls each have as many as the setting says.
 */
export function callsAtOnce(maxConcurrency: number): number {
  const [commands, polls] = [maxConcurrency, maxConcurrency];
  return commands + polls + REASON_LOOK_UPS_AT_ONCE + MACHINE_LIST_LOOK_UPS_AT_ONCE;
}
