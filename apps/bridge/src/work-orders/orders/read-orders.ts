import { type ErpSettings } from '#libs/config';
import { type OrderMessage, type Parsed } from '#libs/contracts';
import { type OrderDocument, readOrderDocument } from '#libs/erp-formats';

/** Reads what an ERP has sent, by the operator's own expressions where one is for it, else by the adapters. */
export function readOrders(
  document: OrderDocument,
  { mapping, timeZone }: Pick<ErpSettings, 'mapping' | 'timeZone'>,
): Parsed<OrderMessage[]> | Promise<Parsed<OrderMessage[]>> {
  return (
    mapping.find(document)?.read(document, { timeZone }) ??
    readOrderDocument(document, { timeZone })
  );
}
