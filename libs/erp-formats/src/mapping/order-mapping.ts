import { mediaType, type OrderMessage, type Parsed } from '#libs/contracts';

import type { OrderDocument, OrderDocumentOptions } from '../document/order-format.js';
import type { Expressions } from './expressions.js';
import { type MappingEntry, topicOf } from './mapping-entry.js';
import { readMapped } from './read-mapped.js';

/** A format that the operator has written down instead of us. */
export interface MappedFormat {
  read(document: OrderDocument, options: OrderDocumentOptions): Promise<Parsed<OrderMessage[]>>;
}

/** Expressions for formats that have no adapter. They go before the adapters: who names a format means it. */
export class OrderMapping {
  /** @param expressions evaluates the entries' expressions, and is closed with the mapping */
  constructor(
    private readonly entries: readonly MappingEntry[],
    private readonly expressions: Expressions,
  ) {}

  /** The first entry for a document; undefined when it is for the adapters. */
  find(document: OrderDocument): MappedFormat | undefined {
    const type = mediaType(document.contentType) ?? '';
    const topic = topicOf(document);
    const entry = this.entries.find(
      (each) =>
        (each.contentType === undefined || each.contentType === type) &&
        (each.topic === undefined || matches(each.topic, topic)),
    );
    if (entry === undefined) return undefined;
    return { read: (of, options) => readMapped(entry, of, options, this.expressions) };
  }

  /** Ends what evaluates; documents that are being read reject. */
  close(): void {
    this.expressions.close();
  }
}

/** By parts, not by a regular expression: each is looked for once, from where the one before it ended. */
function matches(pattern: string, topic: string): boolean {
  const [start = '', ...rest] = pattern.split('*');
  const end = rest.pop();
  if (end === undefined) return pattern === topic;
  if (!topic.startsWith(start)) return false;
  let at = start.length;
  for (const part of rest) {
    const found = topic.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return topic.length - end.length >= at && topic.endsWith(end);
}
