import {
  parsed,
  rejected,
  type OrderChange,
  type OrderMessage,
  type Parsed,
} from '#libs/contracts';

import { changeMessage } from '../document/checked-message.js';
import type { ReadingContext } from '../document/order-format.js';
import { checkEntities } from './check-entity.js';
import { pathTo, type ODataEntity } from './odata-entity.js';
import { isOperation, readODataOperations } from './odata-operation.js';
import { readOrderId } from './odata-order.js';
import { readStatus, STATUS_TEXTS } from './odata-status.js';
import { readLastChange } from './odata-time-stamp.js';

/** Operations and statuses that came without their orders, each order's as a change of it. */
export function readParts(
  entities: readonly ODataEntity[],
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  const byOrder = new Map<string, ODataEntity[]>();
  for (const entity of entities) {
    const orderId = readOrderId(entity);
    if (!orderId.ok) return orderId;
    const parts = byOrder.get(orderId.value) ?? [];
    parts.push(entity);
    byOrder.set(orderId.value, parts);
  }
  const messages: OrderMessage[] = [];
  for (const [orderId, parts] of byOrder) {
    const change = readChange(orderId, parts, context);
    if (!change.ok) return change;
    messages.push(change.value);
  }
  return parsed(messages);
}

function readChange(
  orderId: string,
  parts: readonly ODataEntity[],
  { timeZone, recordedAt }: ReadingContext,
): Parsed<OrderMessage> {
  const path = parts[0]?.path ?? '';
  // a part is not newer than its last change, but it was read after: by that alone it would lose to its header
  const dated = recordedAt === undefined ? lastChange(parts) : parsed(recordedAt);
  if (!dated.ok) return dated;
  const changedAt = dated.value;
  if (changedAt === undefined) {
    return rejected('invalid-message', `${pathTo({ path }, 'LastChangeDateTime')} is missing`);
  }
  const operations = readODataOperations(parts.filter(isOperation), timeZone);
  if (!operations.ok) return operations;
  const checked = checkEntities(parts, { texts: STATUS_TEXTS });
  if (!checked.ok) return checked;
  const status = readStatus({ fields: {}, path }, [], parts);
  const change: OrderChange = { orderId, changedAt };
  if (status !== undefined) change.status = status;
  if (operations.value.length > 0) change.operations = operations.value;
  return changeMessage(() => path, change);
}

function lastChange(parts: readonly ODataEntity[]): Parsed<number | undefined> {
  let last: number | undefined;
  for (const part of parts) {
    const change = readLastChange(part);
    if (!change.ok) return change;
    if (change.value !== undefined) last = Math.max(last ?? change.value, change.value);
  }
  return parsed(last);
}
