import {
  type OperationChange,
  type OrderChange,
  type OrderMessage,
  type OrderOperation,
  type OrderStatus,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
} from '#libs/contracts';
import type { DocumentContent, OrderFormat, ReadingContext } from '../document/order-format.js';
import { type DocumentElement, pathOf, readText, unlessTwice } from '../xml/document-element.js';
import { changeMessage, snapshotMessage } from '../document/checked-message.js';
import { b2mmlRoot, checkB2mmlFields, elementsAbove, ordersIn } from './b2mml-document.js';
import { type Intent, intentOf } from './b2mml-intent.js';
import { readDateTime } from './b2mml-time.js';
import { readB2mmlOperations } from './b2mml-operations.js';
import { checkOwnStates, checkStates, statusOfOrder } from './b2mml-status.js';

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
      `${pathOf(root)} asks, answers or rejects, it changes no order`,
    );
  }
  const orders = ordersIn(root);
  // what an order says beside its ID is of no account once it is cancelled
  const checked = intent === 'cancel' ? parsed(undefined) : checkB2mml(orders);
  if (!checked.ok) return checked;
  const { timeZone } = context;
  let made: Parsed<number> | undefined;
  // by hundreds of orders of one message
  const madeAt = () => (made ??= readMadeAt(root, context));
  const messages = parsedEach(orders, (order) => {
    const changedAt = readChangedAt(order, madeAt, timeZone);
    if (!changedAt.ok) return changedAt;
    return readB2mmlOrder(order, { changedAt: changedAt.value, timeZone, intent });
  });
  if (!messages.ok || messages.value.length > 0) return messages;
  return rejected('invalid-message', `${pathOf(root)} has no request and no job order`);
}

function checkB2mml(orders: readonly DocumentElement[]): Parsed<undefined> {
  const above = elementsAbove(orders);
  const fields = checkB2mmlFields(orders, above);
  if (!fields.ok) return fields;
  for (const element of above) {
    const states = checkOwnStates(element);
    if (!states.ok) return states;
  }
  return fields;
}

/** When the schedule was published, else when the message was made. */
function readChangedAt(
  order: DocumentElement,
  madeAt: () => Parsed<number>,
  timeZone: string,
): Parsed<number> {
  for (let at: DocumentElement | null = order; at !== null; at = at.parent) {
    const published = readDateTime(at, 'PublishedDate', timeZone);
    if (!published.ok) return published;
    if (published.value !== undefined) return parsed(published.value);
  }
  return madeAt();
}

/** When the message was made, else when it was written to Kafka. */
function readMadeAt(
  root: DocumentElement,
  { timeZone, recordedAt }: ReadingContext,
): Parsed<number> {
  const area = unlessTwice(root, 'ApplicationArea');
  if (!area.ok) return area;
  const created = area.value && readDateTime(area.value, 'CreationDateTime', timeZone);
  if (created?.ok === false) return created;
  const changedAt = created?.value ?? recordedAt;
  if (changedAt !== undefined) return parsed(changedAt);
  const path = pathOf(root, 'ApplicationArea', 'CreationDateTime');
  return rejected('invalid-message', `${path} is missing, and so is a PublishedDate`);
}

interface B2mmlOrderContext {
  changedAt: number;
  timeZone: string;
  intent: Exclude<Intent, 'none'>;
}

/**
 * A production request, operations request or job order. Without operations it gives its status alone. The
 * operations of a job order have its status, in a change too: they have none of their own.
 */
function readB2mmlOrder(
  order: DocumentElement,
  { changedAt, timeZone, intent }: B2mmlOrderContext,
): Parsed<OrderMessage> {
  const where = () => pathOf(order);
  const id = readText(order, 'ID');
  if (!id.ok) return id;
  const orderId = id.value;
  if (orderId === undefined)
    return rejected('invalid-message', `${pathOf(order, 'ID')} is missing`);
  if (intent === 'cancel') return changeMessage(where, { orderId, changedAt, status: 'cancelled' });
  const states = checkStates(order);
  if (!states.ok) return states;
  const status = statusOfOrder(order);
  const found = readB2mmlOperations(order, timeZone);
  if (!found.ok) return found;
  const { operations, replaces } = found.value;
  if (operations.length === 0) {
    if (status !== undefined) return changeMessage(where, { orderId, changedAt, status });
    if (intent === 'change' && found.value.states.length > 0)
      return changeMessage(where, { orderId, changedAt, operations: found.value.states });
    const field = pathOf(order, 'EquipmentRequirement', 'EquipmentID');
    return rejected('invalid-message', `${field} is missing, and so is a status`);
  }
  if (intent === 'change') {
    const change: OrderChange = { orderId, changedAt, operations, replaces };
    if (status === undefined) return changeMessage(where, change);
    const ofOperations = order.name === 'JobOrder' ? withStatus(operations, status) : operations;
    return changeMessage(where, { ...change, status, operations: ofOperations });
  }
  // Whoever sends a schedule and leaves out what is optional wants it done; else it says Forecast.
  const ofOrder = status ?? 'released';
  return snapshotMessage(where, {
    orderId,
    changedAt,
    status: ofOrder,
    operations: withStatus(operations, ofOrder),
  });
}

/** For operations that have none of their own. */
function withStatus(operations: readonly OperationChange[], status: OrderStatus): OrderOperation[] {
  return operations.map((operation) => ({ status, ...operation }));
}
