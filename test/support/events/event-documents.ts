import { resolve } from 'node:path';
import { DOCUMENT, readDocuments } from '../../../tools/check/asyncapi/read-documents.mjs';

interface Reference {
  $ref: string;
}

/** A JSON Schema, or a reference to one. */
export type Schema = Record<string, unknown>;

export interface MessageExample {
  name: string;
  headers?: Record<string, string>;
  payload?: unknown;
}

/** A message of docs/asyncapi.yaml. */
export interface DocumentedMessage {
  name: string;
  contentType?: string;
  headers?: Schema;
  /** Absent if the value may be anything that a sender writes. */
  payload?: Schema;
  bindings: Reference;
  examples?: MessageExample[];
}

interface Channel {
  address: string;
  messages: Record<string, Reference>;
  bindings: Reference;
}

interface AsyncApiDocument {
  channels: Record<string, Channel>;
  operations: Record<string, { action: 'send' | 'receive'; channel: Reference }>;
  components: { messages: Record<string, DocumentedMessage> };
}

/** A topic of docs/asyncapi.yaml, with its references resolved. */
export interface DocumentedTopic {
  /** The name without the configured prefix. */
  name: string;
  direction: 'in' | 'out';
  /** The names of its bindings among the components. */
  bindings: string;
  messages: DocumentedMessage[];
}

const documents = readDocuments(resolve(import.meta.dirname, '../../..'));

/** The schemas by their names, such as `schemas/machine-state.json`. */
export const DOCUMENTED_SCHEMAS: ReadonlyMap<string, Schema> = new Map(
  [...documents].filter(([name]) => name !== DOCUMENT) as [string, Schema][],
);

const { channels, operations, components } = documents.get(DOCUMENT) as AsyncApiDocument;

export const DOCUMENTED_TOPICS: readonly DocumentedTopic[] = Object.values(operations).map(
  ({ action, channel }) => {
    const { address, messages, bindings } = entry(channels, channel);
    return {
      name: address,
      direction: action === 'send' ? 'out' : 'in',
      bindings: nameIn(bindings),
      messages: Object.values(messages).map((message) => entry(components.messages, message)),
    };
  },
);

/** The last part of a reference, which is the name of its target. `npm run check` makes sure that the target exists. */
export function nameIn({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

function entry<T>(entries: Record<string, T>, reference: Reference): T {
  const found = entries[nameIn(reference)];
  if (found === undefined) throw new Error(`${reference.$ref} leads nowhere`);
  return found;
}
