import type { DocumentedMessage, MessageExample } from './event-documents.js';
import type { PublishedRecord } from './published-record.js';

/** An example of docs/asyncapi.yaml as a record read from Kafka. */
export function exampleRecord(topic: string, example: MessageExample): PublishedRecord {
  const { headers = {}, payload } = example;
  const machineId = (payload as { machineId?: string | null } | undefined)?.machineId;
  return {
    topic,
    key: machineId == null ? null : Buffer.from(machineId),
    value: payload === undefined ? null : Buffer.from(JSON.stringify(payload)),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)]),
    ),
  };
}

/** The examples of a message, each with a name for a test. */
export function examplesOf({ name, examples = [] }: DocumentedMessage): [string, MessageExample][] {
  return examples.map((example) => [`${name}, ${example.name}`, example]);
}
