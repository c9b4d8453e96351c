import {
  rejected,
  type OrderChange,
  type OrderMessage,
  type OrderStatus,
  type Parsed,
} from '#libs/contracts';

import { changeMessage, snapshotMessage } from '../checked-message.js';
import { pathOf, textOf, type DocumentElement } from '../xml/document-element.js';
import type { Intent } from './b2mml-intent.js';
import { readB2mmlOperations } from './b2mml-operations.js';
import { statusOfOrder } from './b2mml-status.js';

export interface B2mmlOrderContext {
  changedAt: number;
  timeZone: string;
  intent: Exclude<Intent, 'none'>;
}

/**
 * A production request, operations request or job order. Without operations it tells of its status alone. A job
 * order goes by its places: laid over the old ones a new place would not move it, so that one which says where
 * it is done and how it stands is whole, whatever the verb.
 */
export function readB2mmlOrder(
  order: DocumentElement,
  { changedAt, timeZone, intent }: B2mmlOrderContext,
): Parsed<OrderMessage> {
  const where = () => pathOf(order);
  const orderId = textOf(order, 'ID');
  if (orderId === undefined)
    return rejected('invalid-message', `${pathOf(order, 'ID')} is missing`);
  if (intent === 'cancel') return changeMessage(where, { orderId, changedAt, status: 'cancelled' });
  const status = statusOfOrder(order);
  const found = readB2mmlOperations(order, timeZone);
  if (!found.ok) return found;
  const operations = found.value;
  if (operations.length === 0 && status === undefined) {
    const field = pathOf(order, 'EquipmentRequirement', 'EquipmentID');
    return rejected('invalid-message', `${field} is missing, and so is a status`);
  }
  const isWhole = intent === 'whole' || (order.name === 'JobOrder' && status !== undefined);
  if (operations.length === 0 || !isWhole) {
    return changeMessage(where, changeOf({ orderId, changedAt }, status, operations));
  }
  // an order that does not say it is released is not
  const ofOrder = status ?? 'planned';
  return snapshotMessage(where, {
    orderId,
    changedAt,
    status: ofOrder,
    operations: operations.map((operation) => ({ status: ofOrder, ...operation })),
  });
}

function changeOf(
  identity: Pick<OrderChange, 'orderId' | 'changedAt'>,
  status: OrderStatus | undefined,
  operations: NonNullable<OrderChange['operations']>,
): OrderChange {
  const change: OrderChange = { ...identity };
  if (status !== undefined) change.status = status;
  if (operations.length > 0) change.operations = operations;
  return change;
}
