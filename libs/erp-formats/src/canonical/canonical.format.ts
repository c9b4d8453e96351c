import { isJsonObject, parseOrderMessage, parsed } from '#libs/contracts';

import type { OrderFormat } from '../document/order-format.js';

/** The bridge's own form: one JSON object that is one order as it now is. */
export const canonical: OrderFormat = {
  name: 'order JSON',
  mediaTypes: ['application/vnd.machine-bridge.order+json'],
  // further fields are tolerated, and may be called as those of any other format
  recognises: ({ json }) => isJsonObject(json) && Object.hasOwn(json, 'orderId'),
  read: ({ json }) => {
    const order = parseOrderMessage(json);
    return order.ok ? parsed([{ kind: 'snapshot', order: order.value }]) : order;
  },
};
