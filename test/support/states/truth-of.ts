import type { MachineState } from '#libs/contracts';
import type { SandboxControl } from '../sandbox-control.js';
import { clipped, describeDifference } from './differences.js';
import type { TimelinePeriod } from './fold-states.js';

/** The sandbox's states of a machine between two times (epoch seconds, 31 days apart at most), by the minute. */
export async function truthOf(
  sandbox: SandboxControl,
  machineId: string,
  from: number,
  to: number,
): Promise<TimelinePeriod[]> {
  const path = `/sandbox/machines/${encodeURIComponent(machineId)}/timeline?from=${from}&to=${to}`;
  const periods =
    await sandbox.get<{ startTime: number; endTime: number; machineState: MachineState }[]>(path);
  return periods.map(({ startTime, endTime, machineState: state }) => ({
    state,
    startTime,
    endTime,
  }));
}

/**
 * The first difference between a machine's timeline and the truth, as text; undefined if there is none. The timeline
 * must begin with a whole period, at the latest the one in which the machine was first watched. Minutes without data at
 * the very end are ignored: the period before them is open until something follows.
 *
 * @param truth begins before the first published period
 * @param watchedSince epoch seconds from which no state may be missing
 */
export function untruth(
  machineId: string,
  truth: readonly TimelinePeriod[],
  published: readonly TimelinePeriod[],
  watchedSince: number,
): string | undefined {
  const held = truth.find(({ endTime }) => endTime > watchedSince);
  const first = Math.min(published[0]?.startTime ?? Infinity, held?.startTime ?? Infinity);
  const expected = truth.filter(({ endTime }) => endTime > first);
  const until = expected.at(-1)?.endTime ?? Infinity;
  return describeDifference(machineId, expected, clipped(published, -Infinity, until));
}
