import {
  parseOrderMessage,
  parsed,
  rejected,
  type OrderSnapshot,
  type OrderStatus,
  type Parsed,
} from '#libs/contracts';

import { elements, textOf, type XmlElement } from './read-xml.js';
import { readSapOperations } from './sap-operations.js';
import { statusOf } from './sap-status.js';

/** Segment message function: the object was deleted in the ERP. */
const DELETED = '003';

export interface SapOrderContext {
  /** Epoch seconds, from the control record. */
  changedAt: number;
  /** IANA zone of the plant's scheduling times. */
  timeZone: string;
}

/** One E1AFKOL, an order with its sequences and operations, as the canonical snapshot. */
export function readSapOrder(
  header: XmlElement,
  { changedAt, timeZone }: SapOrderContext,
): Parsed<OrderSnapshot> {
  const orderId = orderNumber(textOf(header, 'AUFNR'));
  if (orderId === undefined) return rejected('invalid-message', 'E1AFKOL has no AUFNR');
  const status = statusOfHeader(header);
  const frame = { orderId, status, plant: textOf(header, 'WERKS'), timeZone };
  const operations = readSapOperations(elements(header, 'E1AFFLL'), frame);
  if (!operations.ok) return operations;
  // the canonical rules (lengths, characters, one operation an id) hold for every source alike
  const snapshot = { orderId, changedAt, status, operations: operations.value };
  const checked = parseOrderMessage(snapshot);
  return checked.ok ? parsed(checked.value) : checked;
}

function statusOfHeader(header: XmlElement): OrderStatus {
  if (textOf(header, 'MSGFN') === DELETED) return 'cancelled';
  const codes = elements(header, 'E1JSTKL').map((segment) => textOf(segment, 'STAT') ?? '');
  // an order that does not say it is released is not
  return statusOf(codes) ?? 'planned';
}

/** Numeric order numbers are padded with zeros on the wire and shown without them; others are as they are. */
function orderNumber(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return text;
  const number = text.replace(/^0+/, '');
  return number === '' ? undefined : number;
}
