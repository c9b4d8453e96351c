import { isJsonObject, parsed, rejected, type JsonObject } from '#libs/contracts';

import type { OrderFormat } from '../document/order-format.js';
import { readUmhWorkOrder } from './umh-work-order.js';

const ID = 'external_work_order_id';

/** Work orders of the United Manufacturing Hub's `_analytics` contract: create, start and stop. */
export const umh: OrderFormat = {
  name: 'UMH work orders',
  mediaTypes: [],
  recognises: (content) => content.syntax === 'json' && isWorkOrder(content.value),
  read: (content, context) => {
    if (content.syntax !== 'json' || !isWorkOrder(content.value)) {
      return rejected('invalid-message', `${ID} is missing`);
    }
    const message = readUmhWorkOrder(content.value, context);
    return message.ok ? parsed([message.value]) : message;
  },
};

function isWorkOrder(value: unknown): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, ID);
}
