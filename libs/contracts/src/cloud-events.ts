import { hash as digest } from 'node:crypto';
import { type OutcomeSource, type OutcomeType, quoted } from './command-outcomes.js';
import { rfc3339 } from './epoch-seconds.js';
import type { MachineState } from './machine-records.js';

interface CloudEventAttributes {
  id: string;
  source: string;
  type: string;
  /** Epoch seconds; written as RFC 3339. */
  time: number;
  /** The machineId, for events about one machine. */
  subject?: string | undefined;
  /** CloudEvents extension attributes by their bare name, such as {@link SEQUENCE_EXTENSION}. */
  extensions?: Readonly<Record<string, string>>;
}

/** Extension that counts a machine's events from 1 without gaps; its header is `ce_sequence`. */
export const SEQUENCE_EXTENSION = 'sequence';

/** `ce_source` of outcomes and of everything that belongs to no factory. */
export const BRIDGE_SOURCE = '/machine-bridge';

/** `ce_source` of state events. It is a URI reference: a factoryId may hold anything, so it is encoded. */
export function factorySource(factoryId: string): string {
  const encodable = factoryId.replace(/\p{Cs}/gu, '\ufffd');
  return `${BRIDGE_SOURCE}/factories/${encodeURIComponent(encodable)}`;
}

/** Headers of CloudEvents 1.0 in Kafka's binary mode; the record's value is the data as JSON. */
export function cloudEventHeaders(event: CloudEventAttributes): Record<string, string> {
  const { extensions } = event;
  const headers = attributeHeaders(event);
  for (const name in extensions) headers[`ce_${name}`] = extensions[name] ?? '';
  return headers;
}

/** Two literals: a field that is added afterwards takes memory of its own, and nearly every event has a subject. */
function attributeHeaders(event: CloudEventAttributes): Record<string, string> {
  const { id, source, type, time, subject } = event;
  if (subject === undefined) {
    return {
      ce_specversion: '1.0',
      ce_id: id,
      ce_source: source,
      ce_type: type,
      ce_time: rfc3339(time),
      'content-type': 'application/json',
    };
  }
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: source,
    ce_type: type,
    ce_time: rfc3339(time),
    'content-type': 'application/json',
    ce_subject: subject,
  };
}

/**
 * `ce_id` of a state change: a hash of what it says, never of when it was polled, so that the same
 * change found twice carries the same id. 64 hexadecimal digits. JSON keeps the parts apart: plain
 * concatenation would let ("a", "bc") and ("ab", "c") collide.
 */
export function stateChangeId(
  machineId: string,
  startTime: number,
  state: MachineState,
  revision: number,
): string {
  return digest('sha256', JSON.stringify([machineId, startTime, state, revision]));
}

/**
 * `ce_id` of an outcome: the same message, order, machine and outcome give the same id after a crash. A hash of the
 * JSON of a list, written by hand for the sake of every message.
 *
 * @param orderId of order messages
 */
export function outcomeId(
  source: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>,
  machineId: string | null,
  type: OutcomeType,
  orderId?: string,
): string {
  const { topic, partition, offset } = source;
  const place = `${quoted(topic)},${partition},${offset}`;
  const order = orderId === undefined ? '' : `,${quoted(orderId)}`;
  return digest('sha256', `[${place},${quoted(machineId)},"${type}"${order}]`);
}
