import { poisonOn, type PoisonMessage } from './poison-message.js';

const poison = poisonOn('orders');
const ORDER = { orderId: '4711', changedAt: 1763680000, status: 'released' };

const order = (...operations: unknown[]): string => JSON.stringify({ ...ORDER, operations });

/** Invalid orders in the bridge's own format, or in none. */
export const POISONED_ORDERS: readonly PoisonMessage[] = [
  poison('no operations', 'invalid-message', JSON.stringify(ORDER)),
  poison(
    'an unknown status',
    'invalid-message',
    '{"orderId":"1","changedAt":1,"status":"REL","operations":[]}',
  ),
  poison('no changedAt', 'invalid-message', '{"orderId":"1","status":"released","operations":[]}'),
  poison('an operation that is null', 'invalid-message', order(null)),
  poison('an operation nowhere', 'invalid-message', order({ operationId: '0010' })),
  poison(
    'one operation twice',
    'invalid-message',
    order({ operationId: '0010', machineId: 'M-001' }, { operationId: '0010', machineId: 'M-002' }),
  ),
  poison('a content type nobody reads', 'invalid-message', '{}', {
    'content-type': 'application/avro',
  }),
];
