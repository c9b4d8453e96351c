import {
  Field,
  identifier,
  isBlank,
  listLength,
  optionalList,
  readFields,
  secondsOf,
  time,
} from './message-fields.js';
import { describeJson, isJsonObject } from './json.js';
import type { SourceSequence } from './order-version.js';
import { readOperations, type OrderOperation } from './order-operation.js';
import { isOver, orderStatus, type OrderStatus } from './order-status.js';
import { parsed, rejected, type Parsed } from './rejection.js';

/** The whole order as it now is. */
export interface OrderSnapshot {
  orderId: string;
  /** Epoch seconds; an older snapshot than the one known is superseded. */
  changedAt: number;
  status: OrderStatus;
  operations: OrderOperation[];
  /** Finer than seconds, where the sender counts its messages. */
  fence?: SourceSequence;
}

class OrderDto {
  @Field(identifier)
  orderId!: string;

  @Field(time)
  changedAt: unknown;

  @Field(orderStatus)
  status!: OrderStatus;

  @Field(optionalList)
  @Field(listLength, 'too-large')
  operations?: unknown[] | '' | null;
}

/**
 * Reads `erp.work-orders.v1` in its canonical form from a JSON value. An operation without a status has
 * the order's; an order that is over may leave them out, for it stands on no list. Refusals: `invalid-message`,
 * `too-large` (more than 10,000 operations); one bad operation refuses the order, because a snapshot with a hole
 * would take work off a machine.
 */
export function parseOrderMessage(json: unknown): Parsed<OrderSnapshot> {
  if (!isJsonObject(json)) {
    return rejected('invalid-message', `the message must be an object, not ${describeJson(json)}`);
  }
  const fields = readFields(OrderDto, json);
  if (!fields.ok) return fields;
  const { orderId, status } = fields.value;
  const given = isBlank(fields.value.operations) ? undefined : fields.value.operations;
  if (given === undefined && !isOver(status))
    return rejected('invalid-message', 'operations is missing');
  const operations = readOperations(given ?? [], status);
  if (!operations.ok) return operations;
  const changedAt = secondsOf(fields.value.changedAt) ?? 0;
  return parsed({ orderId, changedAt, status, operations: operations.value });
}
