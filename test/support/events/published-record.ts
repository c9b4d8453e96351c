import { withoutFrame } from '#libs/contracts';
import type { IHeaders } from '../stock-kafkajs.js';

/** The parts of a record that schemas and rules are compared with. */
export interface PublishedRecord {
  /** The name without the configured prefix. */
  topic: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: IHeaders;
}

/** Headers as the schemas describe them: text, where Kafka has bytes. */
export function headersAsText({ headers }: PublishedRecord): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(String) : value?.toString(),
    ]),
  );
}

/** The value as JSON; null without one. */
export function payloadOf({ value }: PublishedRecord): unknown {
  return value === null ? null : JSON.parse(withoutFrame(value).toString('utf8'));
}
