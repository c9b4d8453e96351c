import {
  rejected,
  type OperationChange,
  type OrderChange,
  type OrderMessage,
  type OrderOperation,
  type OrderStatus,
  type Parsed,
} from '#libs/contracts';

import { changeMessage, snapshotMessage } from '../document/checked-message.js';
import { pathOf, readText, type DocumentElement } from '../xml/document-element.js';
import type { Intent } from './b2mml-intent.js';
import { readB2mmlOperations } from './b2mml-operations.js';
import { checkStates, statusOfOrder } from './b2mml-status.js';

export interface B2mmlOrderContext {
  changedAt: number;
  timeZone: string;
  intent: Exclude<Intent, 'none'>;
}

/**
 * A production request, operations request or job order. Without operations it gives its status alone. The
 * operations of a job order have its status, in a change too: they have none of their own.
 */
export function readB2mmlOrder(
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
