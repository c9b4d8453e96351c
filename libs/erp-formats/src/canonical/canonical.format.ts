import { isJsonObject, parseOrderMessage, parsed } from '#libs/contracts';

import type { OrderFormat } from '../document/order-format.js';

/** The bridge's own form: a JSON object with one whole order. */
export const canonical: OrderFormat = {
  name: 'order JSON',
  mediaTypes: ['application/vnd.machine-bridge.order+json'],
  // further fields are tolerated, also with names of other formats
  recognises: ({ json }) => isJsonObject(json) && Object.hasOwn(json, 'orderId'),
  readMessages: ({ json }) => {
    const order = parseOrderMessage(json);
    return order.ok ? parsed([{ kind: 'snapshot', order: order.value }]) : order;
  },
};
