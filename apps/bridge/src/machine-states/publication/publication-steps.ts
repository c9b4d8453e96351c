import { type OutboundRecord } from '#libs/kafka';
import { type Derivation } from '../derivation/derive-state-changes.js';
import { type SequencedEvent } from '../derivation/sequenced-event.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { MAX_TRANSACTION_BYTES, recordBytes, trackedBytes } from './publication-bytes.js';
import { directoryRecords } from './directory-records.js';
import { latestStateRecord, stateEventRecord } from './state-event-records.js';

/** What must be committed together. */
export interface PublicationStep {
  tracked: TrackedMachine;
  records: readonly OutboundRecord[];
  /** Of the records and of what is remembered. */
  bytes: number;
}

/** A machine that comes back after a month may have thousands of changes to tell. */
const MAX_EVENTS_PER_STEP = 200;

/**
 * Cuts a derivation into steps small enough for a transaction each. Every step carries what is
 * remembered after it and what the directory says of that, so that a crash between two of them repeats
 * nothing and leaves nothing out.
 *
 * @param before what is remembered of the machine now
 */
export function publicationSteps(
  { events, next }: Derivation,
  before: TrackedMachine | undefined,
  topicPrefix: string,
): PublicationStep[] {
  const changes = events.map((event) => ({ event, record: stateEventRecord(event, topicPrefix) }));
  const closing = (from: TrackedMachine | undefined, tracked: TrackedMachine): PublicationStep => {
    const latest = latestStateRecord(tracked, topicPrefix);
    const told = directoryRecords(from, tracked, topicPrefix);
    const records = latest === undefined ? told : [latest, ...told];
    const bytes = records.reduce((sum, record) => sum + recordBytes(record), trackedBytes(tracked));
    return { tracked, records, bytes };
  };
  const room = MAX_TRANSACTION_BYTES - closing(before, next).bytes;
  const parts = cut(changes, room);
  let told = before;
  return parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    const step = closing(told, isLast ? next : (part.at(-1)?.event.after ?? next));
    told = step.tracked;
    const records = part.map(({ record }) => record);
    const bytes = records.reduce((sum, record) => sum + recordBytes(record), step.bytes);
    return { ...step, records: [...records, ...step.records], bytes };
  });
}

interface Change {
  event: SequencedEvent;
  record: OutboundRecord;
}

/** At least one part, which may be empty; an event too large for any part has one to itself. */
function cut(changes: readonly Change[], maxBytes: number): Change[][] {
  let part: Change[] = [];
  let bytes = 0;
  const parts = [part];
  for (const change of changes) {
    const size = recordBytes(change.record);
    if (part.length === MAX_EVENTS_PER_STEP || (part.length > 0 && bytes + size > maxBytes)) {
      part = [];
      bytes = 0;
      parts.push(part);
    }
    part.push(change);
    bytes += size;
  }
  return parts;
}
