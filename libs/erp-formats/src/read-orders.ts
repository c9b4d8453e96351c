import { describeAhead, type OrderMessage, type Parsed, rejected } from '#libs/contracts';
import type { OrderMapping } from './mapping/order-mapping.js';
import type { OrderDocument, OrderDocumentOptions } from './document/order-format.js';
import { readOrderDocument } from './read-order-document.js';

type Read = Parsed<OrderMessage[]>;

export interface OrderReadOptions extends OrderDocumentOptions {
  /** How far ahead of the clock `changedAt` may lie. */
  commandMaxSkewSeconds: number;
}

/**
 * Reads what an ERP has sent, by the operator's own expressions where one is for it, else by the adapters. Of
 * whatever format: what no clock can have dated yet is refused (`invalid-message`), for it would outrank all that
 * comes until then.
 */
export function readOrders(
  document: OrderDocument,
  { timeZone, commandMaxSkewSeconds }: OrderReadOptions,
  mapping: OrderMapping,
  nowSeconds: number,
): Read | Promise<Read> {
  const refuse = (read: Read): Read => refuseAhead(read, nowSeconds, commandMaxSkewSeconds);
  const read =
    mapping.find(document)?.read(document, { timeZone }) ??
    readOrderDocument(document, { timeZone });
  return read instanceof Promise ? read.then(refuse) : refuse(read);
}

function refuseAhead(read: Read, nowSeconds: number, maxAheadSeconds: number): Read {
  if (!read.ok) return read;
  const ahead = read.value.find(({ order }) => order.changedAt > nowSeconds + maxAheadSeconds);
  if (ahead === undefined) return read;
  const { orderId, changedAt } = ahead.order;
  const problem = describeAhead(changedAt, maxAheadSeconds);
  return rejected('invalid-message', `changedAt of order ${orderId}: ${problem}`);
}
