import { parsed, rejected, type OrderMessage, type Parsed } from '#libs/contracts';

import type { DocumentContent, OrderFormat, ReadingContext } from '../document/order-format.js';
import { pathOf, unlessTwice, type DocumentElement } from '../xml/document-element.js';
import { b2mmlRoot, ordersIn } from './b2mml-document.js';
import { checkB2mmlFields } from './b2mml-fields.js';
import { intentOf } from './b2mml-intent.js';
import { readB2mmlOrder } from './b2mml-order.js';
import { readDateTime } from './b2mml-time.js';

/** ISA-95 as B2MML writes it, V04 to V07, in XML or JSON. Orders that a message does not name stay. */
export const b2mml: OrderFormat = {
  name: 'B2MML schedules and job orders',
  mediaTypes: ['application/b2mml+xml', 'application/b2mml+json'],
  recognises: (content) => b2mmlRoot(content) !== undefined,
  read: readB2mml,
};

function readB2mml(content: DocumentContent, context: ReadingContext): Parsed<OrderMessage[]> {
  const root = b2mmlRoot(content);
  if (root === undefined) return rejected('invalid-message', 'the root is none of B2MML');
  const found = intentOf(root);
  if (!found.ok) return found;
  const intent = found.value;
  if (intent === 'none') {
    return rejected(
      'invalid-message',
      `${pathOf(root)} asks, answers or rejects, it tells of no order`,
    );
  }
  const orders = ordersIn(root);
  // what an order says beside its ID is of no account once it is cancelled
  const checked = intent === 'cancel' ? parsed(undefined) : checkB2mmlFields(orders);
  if (!checked.ok) return checked;
  const messages: OrderMessage[] = [];
  for (const order of orders) {
    const changedAt = readChangedAt(order, root, context);
    if (!changedAt.ok) return changedAt;
    const { timeZone } = context;
    const message = readB2mmlOrder(order, { changedAt: changedAt.value, timeZone, intent });
    if (!message.ok) return message;
    messages.push(message.value);
  }
  if (messages.length > 0) return parsed(messages);
  return rejected('invalid-message', `${pathOf(root)} has no request and no job order`);
}

/** When the schedule was published; else when the message was made, else when it was written to Kafka. */
function readChangedAt(
  order: DocumentElement,
  root: DocumentElement,
  { timeZone, recordedAt }: ReadingContext,
): Parsed<number> {
  for (let at: DocumentElement | null = order; at !== null; at = at.parent) {
    const published = readDateTime(at, 'PublishedDate', timeZone);
    if (!published.ok) return published;
    if (published.value !== undefined) return parsed(published.value);
  }
  const area = unlessTwice(root, 'ApplicationArea');
  if (!area.ok) return area;
  const created = area.value && readDateTime(area.value, 'CreationDateTime', timeZone);
  if (created?.ok === false) return created;
  const changedAt = created?.value ?? recordedAt;
  if (changedAt !== undefined) return parsed(changedAt);
  const path = pathOf(root, 'ApplicationArea', 'CreationDateTime');
  return rejected('invalid-message', `${path} is missing, and so is a PublishedDate`);
}
