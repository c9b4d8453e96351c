import { type OutboundRecord } from '#libs/messaging';
import { type Derivation } from '../derivation/derive-state-changes.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { latestStateRecord, stateEventRecord } from './state-event-records.js';

/** A machine that comes back after a month may have thousands of changes to tell. */
const MAX_EVENTS_PER_STEP = 200;

/**
 * Cuts a derivation into steps small enough for a transaction each. Every step carries what is
 * remembered after it, so that a crash between two of them repeats nothing.
 */
export function publicationSteps(
  { events, next }: Derivation,
  topicPrefix: string,
): { tracked: TrackedMachine; records: OutboundRecord[] }[] {
  const steps: { tracked: TrackedMachine; records: OutboundRecord[] }[] = [];
  for (let start = 0; start === 0 || start < events.length; start += MAX_EVENTS_PER_STEP) {
    const part = events.slice(start, start + MAX_EVENTS_PER_STEP);
    const isLast = start + MAX_EVENTS_PER_STEP >= events.length;
    const tracked = isLast ? next : (part.at(-1)?.after ?? next);
    const changes = part.map((event) => stateEventRecord(event, topicPrefix));
    steps.push({ tracked, records: [...changes, latestStateRecord(tracked, topicPrefix)] });
  }
  return steps;
}
