import type { ActivityLogEntry } from '#libs/cloud-client';
import type { MachineState } from '#libs/contracts';

/** A stretch of one state in the activity log, in epoch seconds; `endTime` is the first moment after it. */
export interface ActivitySegment {
  state: MachineState;
  startTime: number;
  endTime: number;
}

/** The service calculates states by the minute: what is missing for less is no missing state. */
export const CALCULATION_INTERVAL_SECONDS = 60;

/**
 * Puts log entries in order: sorted, without overlap, neighbours of one state merged. Where entries
 * overlap the one that starts later counts. A missing minute or more stays a gap, so that the state
 * after it is a period of its own.
 */
export function activitySegments(entries: readonly ActivityLogEntry[]): ActivitySegment[] {
  const segments: ActivitySegment[] = [];
  for (const segment of withoutOverlap(sorted(entries))) {
    const previous = segments.at(-1);
    const isSame = previous?.state === segment.state;
    if (isSame && segment.startTime - previous.endTime < CALCULATION_INTERVAL_SECONDS) {
      previous.endTime = segment.endTime;
    } else {
      segments.push(segment);
    }
  }
  return segments;
}

/**
 * A period that began this very minute may be listed with no length yet; elsewhere, and beside one that has a length,
 * that is an artefact of clipping.
 */
function sorted(entries: readonly ActivityLogEntry[]): ActivitySegment[] {
  const latestStart = entries.reduce((latest, entry) => Math.max(latest, entry.startTime), 0);
  const isLatest = ({ startTime }: ActivityLogEntry): boolean => startTime === latestStart;
  const hasBegun = !entries.some((entry) => isLatest(entry) && hasLength(entry));
  return entries
    .map((entry) => {
      const { state, startTime } = entry;
      const endTime = hasBegun && isLatest(entry) ? startTime + 1 : entry.endTime;
      return { state, startTime, endTime };
    })
    .filter(hasLength)
    .sort((a, b) => a.startTime - b.startTime || b.endTime - a.endTime);
}

function hasLength({
  startTime,
  endTime,
}: Pick<ActivitySegment, 'startTime' | 'endTime'>): boolean {
  return endTime > startTime;
}

function withoutOverlap(entries: readonly ActivitySegment[]): ActivitySegment[] {
  const segments: ActivitySegment[] = [];
  // Entries that have begun; the last began last and is the one that counts.
  const open: ActivitySegment[] = [];
  let cursor = -Infinity;
  const advance = (until: number): void => {
    for (let top = open.at(-1); top !== undefined && cursor < until; top = open.at(-1)) {
      const endTime = Math.min(top.endTime, until);
      if (endTime > cursor) segments.push({ state: top.state, startTime: cursor, endTime });
      cursor = Math.max(cursor, endTime);
      if (top.endTime <= cursor) open.pop();
    }
    cursor = Math.max(cursor, until);
  };
  for (const entry of entries) {
    advance(entry.startTime);
    open.push(entry);
  }
  advance(Infinity);
  return segments;
}
