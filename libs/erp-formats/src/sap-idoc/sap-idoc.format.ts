import { parsed, rejected, type OrderMessage, type Parsed } from '#libs/contracts';

import type { OrderFormat } from '../document/order-format.js';
import { checkFields } from '../xml/check-fields.js';
import { elements, pathOf, textOf, type DocumentElement } from '../xml/document-element.js';
import { readControlRecord, type ControlRecordContext } from './control-record.js';
import { IDOC_FIELDS } from './idoc-fields.js';
import { readSapOrder } from './sap-order.js';

/** The five releases of the basic type differ in fields that are not read here. */
const BASIC_TYPE = /^LOIPRO\d{2}$/;
const MESSAGE_TYPE = 'LOIPRO';

export const sapIdoc: OrderFormat = {
  name: 'SAP LOIPRO01 to LOIPRO05 IDoc XML',
  mediaTypes: ['application/idoc+xml', 'application/x-sap.idoc'],
  recognises: (content) => content.syntax === 'xml' && isOrderDocument(content.root),
  read: (content, context) =>
    content.syntax === 'xml'
      ? readSapOrders(content.root, context)
      : rejected('invalid-message', 'an IDoc is XML'),
};

/** By its root, or, for an extended type under a name of its own, by the message type of its control record. */
function isOrderDocument(root: DocumentElement): boolean {
  if (BASIC_TYPE.test(root.name)) return true;
  return elements(root, 'IDOC')
    .flatMap((idoc) => elements(idoc, 'EDI_DC40'))
    .some((control) => textOf(control, 'MESTYP') === MESSAGE_TYPE);
}

/** All orders of all IDocs in the document. */
function readSapOrders(
  root: DocumentElement,
  context: ControlRecordContext,
): Parsed<OrderMessage[]> {
  const messages: OrderMessage[] = [];
  for (const idoc of elements(root, 'IDOC')) {
    const checked = checkFields(idoc, IDOC_FIELDS);
    if (!checked.ok) return checked;
    const version = readControlRecord(idoc, context);
    if (!version.ok) return version;
    for (const header of elements(idoc, 'E1AFKOL')) {
      const order = readSapOrder(header, version.value, context.timeZone);
      if (!order.ok) return order;
      messages.push(order.value);
    }
  }
  if (messages.length > 0) return parsed(messages);
  return rejected('invalid-message', `${pathOf(root, 'IDOC', 'E1AFKOL')} is missing`);
}
