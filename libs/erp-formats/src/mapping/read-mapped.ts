import {
  mediaType,
  parsed,
  parseOrderMessage,
  rejected,
  MAX_LIST_LENGTH,
  type OrderMessage,
  type Parsed,
} from '#libs/contracts';

import { placed } from '../checked-message.js';
import type { OrderDocument, OrderDocumentOptions } from '../order-format.js';
import { readContent } from '../read-content.js';
import type { Expressions } from './expressions.js';
import { type MappingEntry, topicOf } from './mapping-entry.js';
import { plainValue } from './plain-value.js';

/** What an expression makes of a document: one canonical order or a list of them, held to the same rules. */
export async function readMapped(
  { name, expression }: MappingEntry,
  document: OrderDocument,
  { timeZone }: OrderDocumentOptions,
  expressions: Expressions,
): Promise<Parsed<OrderMessage[]>> {
  const content = readContent(document, new Set([mediaType(document.contentType) ?? '']));
  if (!content.ok) return content;
  const { contentType, recordedAt = null } = document;
  const variables = { contentType, topic: topicOf(document), recordedAt, timeZone };
  const input = JSON.stringify(plainValue(content.value));
  const evaluation = await expressions.evaluate({ expression, input, variables });
  if (evaluation.ok) return readResult(name, JSON.parse(evaluation.json ?? 'null'));
  return rejected('invalid-message', `mapping ${name}: ${evaluation.fault}`);
}

function readResult(name: string, result: unknown): Parsed<OrderMessage[]> {
  const isList = Array.isArray(result);
  const orders: unknown[] = isList ? result : [result];
  if (orders.length === 0 || result === null) {
    return rejected('invalid-message', `mapping ${name}: the expression yields nothing`);
  }
  if (orders.length > MAX_LIST_LENGTH) {
    const found = `${orders.length} orders, more than ${MAX_LIST_LENGTH}`;
    return rejected('too-large', `mapping ${name}: the expression yields ${found}`);
  }
  const messages: OrderMessage[] = [];
  for (const [index, order] of orders.entries()) {
    const message = readOrder(`mapping ${name}, result${isList ? `[${index}]` : ''}`, order);
    if (!message.ok) return message;
    messages.push(message.value);
  }
  return parsed(messages);
}

function readOrder(path: string, order: unknown): Parsed<OrderMessage> {
  const checked = parseOrderMessage(order);
  return checked.ok ? parsed({ kind: 'snapshot', order: checked.value }) : placed(path, checked);
}
