import { type ShiftCalendar } from '#libs/clock';
import { type KnownEntry } from './known-entry.js';
import { type Span } from './period.js';

/** A stretch of time with the reason that applies to it. */
export interface ClassifiedSpan extends Span {
  entry: KnownEntry;
  /** The later reason that an open-ended one was ended by, and when it would have ended without. */
  cut?: { by: KnownEntry; endTime: number };
}

/**
 * What the reasons sent for one machine amount to, in time order. The service's rules: with an end a reason applies to
 * exactly its period; without one it applies to the end of the shift in which it is received, or until another reason
 * with an end is received; where two overlap, the later one applies. Those that are still on their way count as if
 * they were applied, rejected ones do not.
 *
 * @param entries in the order in which they were sent
 */
export function classify(
  entries: readonly KnownEntry[],
  calendar: ShiftCalendar,
): ClassifiedSpan[] {
  let spans: ClassifiedSpan[] = [];
  for (const entry of entries) {
    if (entry.status === 'rejected') continue;
    const receivedAt = entry.appliedAt ?? entry.sentAt;
    const { startTime, endTime } = entry;
    if (endTime !== null) spans = spans.map((span) => endedBy(span, entry, receivedAt));
    const until = endTime ?? calendar.shiftAt(receivedAt).endTime;
    const added = { startTime, endTime: until, entry };
    spans = [...spans.flatMap((span) => outside(span, added)), added].filter(isNotEmpty);
  }
  return spans.sort((a, b) => a.startTime - b.startTime);
}

function endedBy(span: ClassifiedSpan, by: KnownEntry, receivedAt: number): ClassifiedSpan {
  if (span.entry.endTime !== null || span.endTime <= receivedAt) return span;
  return { ...span, endTime: receivedAt, cut: { by, endTime: span.endTime } };
}

function outside(span: ClassifiedSpan, { startTime, endTime }: Span): ClassifiedSpan[] {
  if (startTime >= endTime || span.endTime <= startTime || span.startTime >= endTime) return [span];
  return [
    { ...span, endTime: Math.min(span.endTime, startTime) },
    { ...span, startTime: Math.max(span.startTime, endTime) },
  ].filter(isNotEmpty);
}

function isNotEmpty({ startTime, endTime }: Span): boolean {
  return startTime < endTime;
}
