import { isJsonObject, type OrderMessage, parsed, type Parsed, rejected } from '#libs/contracts';
import { changeMessage, snapshotMessage } from '../document/checked-message.js';
import type { ReadingContext } from '../document/order-format.js';
import { orderNumber } from '../sap/order-number.js';
import { statusWithin } from '../sap/sap-status.js';
import { checkEntities, checkEntity } from './check-entity.js';
import { expanded, type ODataEntity, pathTo, textField, valueOf } from './odata-entity.js';
import { readODataOperations } from './odata-operation.js';
import { ORDER_FLAGS, readStatus, STATUS_TEXTS } from './odata-status.js';
import { readLastChange } from './odata-time-stamp.js';

const OPERATIONS = ['to_ProductionOrderOperation', '_ProductionOrderOperation'];
const KEYS = ['ManufacturingOrder', 'ProductionOrder'];
const STATUSES = ['to_ProductionOrderStatus', '_ProductionOrderStatus'];

/** An order's header: with its operations expanded the whole order, without them a change of its status. */
export function readODataOrder(header: ODataEntity, context: ReadingContext): Parsed<OrderMessage> {
  const orderId = readOrderId(header);
  if (!orderId.ok) return orderId;
  const checked = checkHeader(header);
  if (!checked.ok) return checked;
  const lastChange = readLastChange(header);
  if (!lastChange.ok) return lastChange;
  const changedAt = lastChange.value ?? context.recordedAt;
  if (changedAt === undefined) {
    return rejected('invalid-message', `${pathTo(header, 'LastChangeDateTime')} is missing`);
  }
  const status = readStatus(header, ORDER_FLAGS, expanded(header, STATUSES));
  const entities = expanded(header, OPERATIONS);
  if (entities === undefined) {
    const change = { orderId: orderId.value, changedAt };
    return changeMessage(() => header.path, status === undefined ? change : { ...change, status });
  }
  const operations = readODataOperations(entities, context.timeZone);
  if (!operations.ok) return operations;
  // an order that does not say it is released is not
  const ofOrder = status ?? 'planned';
  return snapshotMessage(() => header.path, {
    orderId: orderId.value,
    changedAt,
    status: ofOrder,
    operations: operations.value.map((operation) => ({
      ...operation,
      status: statusWithin(ofOrder, operation.status ?? ofOrder),
    })),
  });
}

function checkHeader(header: ODataEntity): Parsed<undefined> {
  const checked = checkEntity(header, { texts: [], flags: ORDER_FLAGS });
  if (!checked.ok) return checked;
  const pages = checkPages(header, [...OPERATIONS, ...STATUSES]);
  if (!pages.ok) return pages;
  return checkEntities(expanded(header, STATUSES) ?? [], { texts: STATUS_TEXTS });
}

/** The number of an order as it is shown, out of any of its entities. */
export function readOrderId(entity: ODataEntity): Parsed<string> {
  const checked = checkEntity(entity, { texts: KEYS });
  if (!checked.ok) return checked;
  const number = textField(entity, 'ManufacturingOrder') ?? textField(entity, 'ProductionOrder');
  const orderId = orderNumber(number);
  if (orderId !== undefined) return parsed(orderId);
  return rejected('invalid-message', `${pathTo(entity, 'ManufacturingOrder')} is missing`);
}

/** Refuses an entity of whose parts the server sent the first page: the others would count as gone. */
function checkPages(entity: ODataEntity, names: readonly string[]): Parsed<undefined> {
  const link = names.map((name) => nextPageOf(entity, name)).find(Boolean);
  if (link === undefined) return parsed(undefined);
  const remedy = '$expand without paging by the server, or send operations alone';
  return rejected('invalid-message', `${pathTo(entity, link)} leads to a further page: ${remedy}`);
}

/** The link is within what is expanded in V2, beside it in V4, and goes by a shorter name in V4.01. */
function nextPageOf({ fields }: ODataEntity, name: string): string | undefined {
  const value = valueOf(fields, name);
  if (isJsonObject(value) && isLink(valueOf(value, '__next'))) return `${name}.__next`;
  const besides = [`${name}@odata.nextLink`, `${name}@nextLink`];
  return besides.find((each) => isLink(valueOf(fields, each)));
}

function isLink(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
