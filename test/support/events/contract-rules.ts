import {
  type CommandOutcome,
  factorySource,
  outcomeId,
  type OutcomeType,
  rfc3339,
  type StateChanged,
  STATE_EVENT_TYPES,
  stateChangeId,
  TOPICS,
} from '#libs/contracts';
import { headersAsText, payloadOf, type PublishedRecord } from './published-record.js';

/** A value as found and as expected. */
type Agreement = [what: string, found: unknown, expected: unknown];

/** Rules that a schema cannot express: contradictions between key, headers and data of a record that fits its schema. */
export function contradictionsIn(record: PublishedRecord): string[] {
  return agreementsOf(record)
    .filter(([, found, expected]) => found !== expected)
    .map(([what, found, expected]) => `${what} is ${String(found)}, not ${String(expected)}`);
}

function agreementsOf(record: PublishedRecord): Agreement[] {
  const { topic } = record;
  switch (topic) {
    case TOPICS.stateChanges:
      return ofStateEvent(record);
    case TOPICS.commandOutcomes:
      return ofOutcome(record);
    case TOPICS.states:
    case TOPICS.registry:
    case TOPICS.classificationReasons:
      return ofLatestRecord(record);
    default:
      return ofDeadLetter(record);
  }
}

function ofStateEvent(record: PublishedRecord): Agreement[] {
  const headers = headersAsText(record);
  const data = payloadOf(record) as StateChanged;
  const { machineId, factoryId, startTime, state, revision } = data;
  const agreements: Agreement[] = [
    ['the key', record.key?.toString(), machineId],
    ['ce_subject', headers['ce_subject'], machineId],
    ['ce_source', headers['ce_source'], factorySource(factoryId)],
  ];
  const type = headers['ce_type'];
  if (type !== STATE_EVENT_TYPES.changed && type !== STATE_EVENT_TYPES.corrected) return agreements;
  return [
    ...agreements,
    ['ce_time', headers['ce_time'], rfc3339(startTime)],
    ['ce_id', headers['ce_id'], stateChangeId(machineId, startTime, state, revision)],
    ['what is null of the previous', data.previousStartTime === null, data.previousState === null],
  ];
}

function ofOutcome(record: PublishedRecord): Agreement[] {
  const headers = headersAsText(record);
  const { machineId, orderId, source } = payloadOf(record) as CommandOutcome;
  const id = outcomeId(source, machineId, headers['ce_type'] as OutcomeType, orderId);
  const agreements: Agreement[] = [
    ['ce_id', headers['ce_id'], id],
    ['ce_subject', headers['ce_subject'], machineId ?? undefined],
  ];
  // the key of a message without a machine is its own
  if (machineId === null) return agreements;
  return [...agreements, ['the key', record.key?.toString(), machineId]];
}

function ofLatestRecord(record: PublishedRecord): Agreement[] {
  const data = payloadOf(record) as { machineId: string } | null;
  return data === null ? [] : [['the key', record.key?.toString(), data.machineId]];
}

function ofDeadLetter(record: PublishedRecord): Agreement[] {
  const source = String(headersAsText(record)['dlq-source-topic']);
  return [['whether it came from the topic', `${source}.dlq`.endsWith(record.topic), true]];
}
