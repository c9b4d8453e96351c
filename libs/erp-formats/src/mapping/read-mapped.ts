import {
  MAX_LIST_LENGTH,
  mediaType,
  type OrderMessage,
  parsed,
  type Parsed,
  parseOrderMessage,
  rejected,
} from '#libs/contracts';
import { placed } from '../document/checked-message.js';
import type {
  DocumentContent,
  OrderDocument,
  OrderDocumentOptions,
} from '../document/order-format.js';
import { readContent } from '../document/read-content.js';
import { groupBy } from '../xml/group-by.js';
import type { DocumentElement } from '../xml/document-element.js';
import type { Expressions } from './expressions.js';
import { type MappingEntry, topicOf } from './mapping-entry.js';

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

/**
 * A document as an expression sees it. Of XML an element is its text, or an object of its children by name, of
 * its attributes with `@` before the name and of its text as `#text`; what repeats is a list. The root is a
 * field of the outermost object.
 */
export function plainValue(content: DocumentContent): unknown {
  if (content.syntax === 'json') return content.value;
  return Object.fromEntries([[content.root.name, plainElement(content.root)]]);
}

function plainElement({ children, attributes, text }: DocumentElement): unknown {
  const fields = Object.entries(attributes).map(([name, value]) => [`@${name}`, value] as const);
  if (children.length === 0 && fields.length === 0) return text;
  const nested = [...groupBy(children, ({ name }) => name)].map(([name, alike]) => {
    const values = alike.map(plainElement);
    return [name, values.length === 1 ? values[0] : values] as const;
  });
  // fromEntries defines fields, whatever they are called
  return Object.fromEntries([
    ...fields,
    ...(text === '' ? [] : [['#text', text] as const]),
    ...nested,
  ]);
}
