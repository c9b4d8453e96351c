import type { JsonObject } from '#libs/contracts';

import { actionOf } from './umh-topic.js';

const ALL_THAT_IS_READ =
  'of the _analytics contract only work-order create, start and stop are read';

/** What messages about products have and those about work orders do not; the product of an order is in `product`. */
const PRODUCT_FIELDS = ['external_product_type_id', 'product_batch_id', 'bad_quantity'] as const;

/**
 * Why a message that names a work order is not about it, by its topic or, where that says neither way, by its
 * fields; undefined where it may be.
 */
export function otherMessage(message: JsonObject, topic: string | null): string | undefined {
  if (actionOf(topic) !== undefined) return undefined;
  const [, ending] = /\._analytics\.([^]+)$/.exec(topic ?? '') ?? [];
  if (ending !== undefined && ending !== 'work-order') {
    return `the topic ends in _analytics.${ending.slice(0, 100)}; ${ALL_THAT_IS_READ}`;
  }
  const field = PRODUCT_FIELDS.find((name) => Object.hasOwn(message, name));
  return field && `${field} makes it a message about products; ${ALL_THAT_IS_READ}`;
}
