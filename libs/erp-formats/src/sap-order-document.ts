import { parsed, rejected, type OrderSnapshot, type Parsed } from '#libs/contracts';

import { epochSecondsOf, utcSeconds } from './local-time.js';
import { elements, textOf, type XmlDocument, type XmlElement } from './read-xml.js';
import { readSapOrder } from './sap-order.js';
import { readSapTime } from './sap-time.js';

/** The five releases of the basic type differ in fields that are not read here. */
const BASIC_TYPE = /^LOIPRO\d{2}$/;
const MESSAGE_TYPE = 'LOIPRO';

/** By its root, or, for an extended type under a name of its own, by the message type of its control record. */
export function isSapOrderDocument({ rootName, root }: XmlDocument): boolean {
  if (BASIC_TYPE.test(rootName)) return true;
  return elements(root, 'IDOC')
    .flatMap((idoc) => elements(idoc, 'EDI_DC40'))
    .some((control) => textOf(control, 'MESTYP') === MESSAGE_TYPE);
}

/** All orders of all IDocs in the document. */
export function readSapOrders(root: XmlElement, timeZone: string): Parsed<OrderSnapshot[]> {
  const orders: OrderSnapshot[] = [];
  for (const idoc of elements(root, 'IDOC')) {
    const changedAt = readChangedAt(idoc, timeZone);
    if (!changedAt.ok) return changedAt;
    for (const header of elements(idoc, 'E1AFKOL')) {
      const order = readSapOrder(header, { changedAt: changedAt.value, timeZone });
      if (!order.ok) return order;
      orders.push(order.value);
    }
  }
  if (orders.length === 0) return rejected('invalid-message', 'the IDoc has no order (E1AFKOL)');
  return parsed(orders);
}

/**
 * When the ERP serialised the order. SERIAL starts with that time in UTC and orders IDocs of one object;
 * CREDAT and CRETIM are in the sender's zone. Without either an old copy could not be told from a new one.
 */
function readChangedAt(idoc: XmlElement, timeZone: string): Parsed<number> {
  const control = elements(idoc, 'EDI_DC40')[0] ?? {};
  const serial = textOf(control, 'SERIAL') ?? '';
  const serialised = readSapTime(serial.slice(0, 8), serial.slice(8, 14));
  if (typeof serialised === 'object') return parsed(utcSeconds(serialised));
  const created = readSapTime(textOf(control, 'CREDAT'), textOf(control, 'CRETIM'));
  if (typeof created === 'object') return parsed(epochSecondsOf(created, timeZone));
  return rejected('invalid-message', 'EDI_DC40 has neither a usable SERIAL nor CREDAT');
}
