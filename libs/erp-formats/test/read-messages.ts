import { readFileSync } from 'node:fs';
import type { OrderMessage, OrderSnapshot } from '#libs/contracts';

import type { OrderDocument } from '../src/document/order-format.js';
import { readOrderDocument } from '../src/read-orders.js';

type Options = Partial<Omit<OrderDocument, 'body'>> & { timeZone?: string };

export function fixture(name: string): Buffer {
  return readFileSync(`libs/erp-formats/test/fixtures/${name}`);
}

/** Messages of a document; a rejection throws `code: detail`. */
export function readMessages(
  body: Buffer | string,
  { timeZone = 'UTC', ...rest }: Options = {},
): OrderMessage[] {
  const document = { contentType: null, ...rest, body: Buffer.from(body) };
  const messages = readOrderDocument(document, { timeZone });
  if (!messages.ok) throw new Error(`${messages.rejection.code}: ${messages.rejection.detail}`);
  return messages.value;
}

/** The orders of a document that has only snapshots. */
export function readSnapshots(body: Buffer | string, options: Options = {}): OrderSnapshot[] {
  return readMessages(body, options).map(({ kind, order }) => {
    if (kind === 'change') throw new Error(`order ${order.orderId} is no whole order`);
    return order;
  });
}

export function epochSeconds(rfc3339: string): number {
  return Date.parse(rfc3339) / 1000;
}
