import {
  type OrderMessage,
  type OrderStatus,
  type OrderVersion,
  type Parsed,
  rejected,
} from '#libs/contracts';
import { snapshotMessage } from '../document/checked-message.js';
import { orderNumber } from '../sap/order-number.js';
import { statusOf } from '../sap/sap-status.js';
import { type DocumentElement, elements, pathOf, textOf } from '../xml/document-element.js';
import { DELETED, readSapOperations } from './sap-operations.js';

/** One E1AFKOL, an order with its sequences and operations, as a snapshot. */
export function readSapOrder(
  header: DocumentElement,
  version: OrderVersion,
  timeZone: string,
): Parsed<OrderMessage> {
  const orderId = orderNumber(textOf(header, 'AUFNR'));
  if (orderId === undefined) {
    return rejected('invalid-message', `${pathOf(header, 'AUFNR')} is missing`);
  }
  const status = statusOfHeader(header);
  const frame = { status, plant: textOf(header, 'WERKS'), timeZone };
  const operations = readSapOperations(elements(header, 'E1AFFLL'), frame);
  if (!operations.ok) return operations;
  const order = { orderId, ...version, status, operations: operations.value };
  return snapshotMessage(() => pathOf(header), order);
}

function statusOfHeader(header: DocumentElement): OrderStatus {
  if (textOf(header, 'MSGFN') === DELETED) return 'cancelled';
  const codes = elements(header, 'E1JSTKL').map((segment) => textOf(segment, 'STAT') ?? '');
  // an order that does not say it is released is not
  return statusOf(codes) ?? 'planned';
}
