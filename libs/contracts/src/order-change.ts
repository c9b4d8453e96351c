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
import { readOperationChanges, type OperationChange } from './order-operation.js';
import { optionalOrderStatus, type OrderStatus } from './order-status.js';
import { parsed, rejected, type Parsed } from './rejection.js';
import type { ReplacedOperations } from './replaced-operations.js';

/** What is new about an order, from a sender that does not say the rest; what it leaves out stays. */
export interface OrderChange {
  orderId: string;
  /** Epoch seconds; a change older than what is known is superseded. */
  changedAt: number;
  /** Without operations beside it, it goes for them as `operationsUnderStatus` has it. */
  status?: OrderStatus;
  operations?: OperationChange[];
  /** Which of them it names every place of: the places that are known and not among them go. */
  replaces?: ReplacedOperations;
  fence?: SourceSequence;
}

class OrderChangeDto {
  @Field(identifier)
  orderId!: string;

  @Field(time)
  changedAt: unknown;

  @Field(optionalOrderStatus)
  status?: OrderStatus | '' | null;

  @Field(optionalList)
  @Field(listLength, 'too-large')
  operations?: unknown[] | '' | null;
}

/** Checks a change by the rules of the canonical form. Refusals: `invalid-message`, `too-large`. */
export function parseOrderChange(json: unknown): Parsed<OrderChange> {
  if (!isJsonObject(json)) {
    return rejected('invalid-message', `the change must be an object, not ${describeJson(json)}`);
  }
  const fields = readFields(OrderChangeDto, json);
  if (!fields.ok) return fields;
  const { orderId, status, operations } = fields.value;
  const changedAt = secondsOf(fields.value.changedAt) ?? 0;
  const change: OrderChange = { orderId, changedAt };
  if (!isBlank(status)) change.status = status;
  if (isBlank(operations)) return parsed(change);
  const read = readOperationChanges(operations);
  return read.ok ? parsed({ ...change, operations: read.value }) : read;
}
