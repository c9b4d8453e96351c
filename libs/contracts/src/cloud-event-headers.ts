import { rfc3339 } from './epoch-seconds.js';

export interface CloudEventAttributes {
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
  const headers: Record<string, string> = {
    ce_specversion: '1.0',
    ce_id: event.id,
    ce_source: event.source,
    ce_type: event.type,
    ce_time: rfc3339(event.time),
    'content-type': 'application/json',
  };
  if (event.subject !== undefined) headers['ce_subject'] = event.subject;
  for (const [name, value] of Object.entries(event.extensions ?? {})) headers[`ce_${name}`] = value;
  return headers;
}
