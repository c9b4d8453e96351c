import type { NewEntry } from '../api/index.js';
import type { Machine } from './machine.js';
import type { Period } from './periods.js';

interface EntryRefusal {
  code:
    | 'unknown-machine'
    | 'unknown-reason'
    | 'start-after-end'
    | 'start-in-future'
    | 'too-old'
    | 'end-unknown'
    | 'over-operating';
  message: string;
}

/** How far the clocks of pages may be ahead. */
const MAX_AHEAD_SECONDS = 60;
/** The service accepts no older reason, and its activity log goes back no further. */
export const MAX_AGE_SECONDS = 30 * 86_400;
const MOST_OVER_OPERATING_SECONDS = 60;

/**
 * Why a reason would be refused, as far as the terminal knows; the service decides.
 *
 * @param rememberedFrom earlier periods are known only if they continue into the time since
 */
export function refuseEntry(
  entry: NewEntry,
  machine: Pick<Machine, 'isListed' | 'reasons'> | undefined,
  periods: readonly Period[],
  now: number,
  rememberedFrom: number,
): EntryRefusal | undefined {
  const { machineId, reasonId, startTime, endTime } = entry;
  if (machine?.isListed !== true) {
    return { code: 'unknown-machine', message: `there is no machine ${machineId}` };
  }
  const { reasons } = machine;
  if (reasons.length > 0 && !reasons.some(({ code }) => code === reasonId)) {
    return { code: 'unknown-reason', message: `${machineId} has no reason ${reasonId}` };
  }
  if (endTime !== null && endTime <= startTime) {
    return { code: 'start-after-end', message: 'the end must be later than the start' };
  }
  if (Math.max(startTime, endTime ?? 0) > now + MAX_AHEAD_SECONDS) {
    return { code: 'start-in-future', message: 'it lies in the future' };
  }
  if (startTime < now - MAX_AGE_SECONDS) {
    return { code: 'too-old', message: 'it is more than 30 days ago' };
  }
  const isRemembered =
    startTime >= rememberedFrom || periods.some((it) => it.startTime <= startTime);
  if (endTime === null && !isRemembered) {
    // the machine may have started again days ago
    return { code: 'end-unknown', message: 'when its stop ended is no longer known' };
  }
  if (
    entry.overOperating !== true &&
    overOperating(entry, periods, now) > MOST_OVER_OPERATING_SECONDS
  ) {
    return { code: 'over-operating', message: 'the machine was operating then' };
  }
  return undefined;
}

/** Seconds of an entry in which the machine was OPERATING. An open-ended entry ends where the machine runs again. */
function overOperating(
  { startTime, endTime }: NewEntry,
  periods: readonly Period[],
  now: number,
): number {
  let seconds = 0;
  for (const period of periods) {
    if (period.state !== 'OPERATING') continue;
    if (endTime === null && period.startTime > startTime) continue;
    const end = Math.min(period.endTime ?? now, endTime ?? now);
    seconds += Math.max(0, end - Math.max(period.startTime, startTime));
  }
  return seconds;
}
