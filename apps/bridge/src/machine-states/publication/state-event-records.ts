import { cloudEventHeaders, factorySource, SEQUENCE_EXTENSION, TOPICS } from '#libs/contracts';
import { type OutboundRecord } from '#libs/kafka';
import { type SequencedEvent } from '../derivation/sequenced-event.js';
import { stateRecord, type TrackedMachine } from '../derivation/tracked-machine.js';

/** The event as a record of `machine.state-changes.v1`. */
export function stateEventRecord(published: SequencedEvent, topicPrefix: string): OutboundRecord {
  const { id, time, sequence, event } = published;
  const { machineId, factoryId } = event.data;
  return {
    topic: `${topicPrefix}${TOPICS.stateChanges}`,
    key: machineId,
    value: JSON.stringify(event.data),
    headers: cloudEventHeaders({
      id,
      source: factorySource(factoryId),
      type: event.type,
      time,
      subject: machineId,
      extensions: { [SEQUENCE_EXTENSION]: String(sequence) },
    }),
  };
}

/** The latest state as a record of `machine.states.v1`; none before the machine's first event, with which it begins. */
export function latestStateRecord(
  tracked: TrackedMachine,
  topicPrefix: string,
): OutboundRecord | undefined {
  if (tracked.sequence === 0) return undefined;
  const record = stateRecord(tracked);
  return {
    topic: `${topicPrefix}${TOPICS.states}`,
    key: tracked.machineId,
    value: record === null ? null : JSON.stringify(record),
    headers: record === null ? {} : { 'content-type': 'application/json' },
  };
}
