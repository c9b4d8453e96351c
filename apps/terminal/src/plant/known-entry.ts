import type { Entry } from '../api/index.js';

/** A reason on its topic, and what is known of it. */
export interface KnownEntry extends Entry {
  /** Whether a terminal sent it. */
  isOurs: boolean;
  /** When the service took it, epoch seconds. */
  appliedAt: number | null;
}

/** As pages have it. */
export function entryView(entry: KnownEntry): Entry {
  const { entryId, machineId, reasonId, startTime, endTime, station, operator, sentAt } = entry;
  const { status, code, detail, moved, source } = entry;
  const what = { entryId, machineId, reasonId, startTime, endTime };
  return { ...what, station, operator, sentAt, status, code, detail, moved, source };
}
