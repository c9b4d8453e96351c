import {
  FieldProblem,
  type FieldParser,
  identifier,
  list,
  MAX_IDENTIFIER_LENGTH,
  optional,
  readFields,
  time,
  wholeNumber,
} from './message-fields.js';
import { parsed, type Parsed, rejected } from './rejection.js';

/** What a sender says of one order: all of it as it now is, or what is new about it. */
export type OrderMessage =
  { kind: 'snapshot'; order: OrderSnapshot } | { kind: 'change'; order: OrderChange };

/**
 * A sender's own count of its messages. Seconds cannot order two changes of one second, nor a clock that is
 * set back; a count can, but only among messages counted by the same counter. Records and documents name it `fence`.
 */
export interface SourceSequence {
  /** Which counter, such as `SERIAL of S4HCLNT100`. */
  counter: string;
  /** Decimal digits, of any length. */
  value: string;
}

/** Distinguishes an older state of an order from a newer one. */
export interface OrderVersion {
  /** Epoch seconds. */
  changedAt: number;
  fence?: SourceSequence;
}

/** The whole order as it now is. An older snapshot than the one known is superseded. */
export interface OrderSnapshot extends OrderVersion {
  orderId: string;
  status: OrderStatus;
  operations: OrderOperation[];
}

/**
 * What is new about an order, from a sender that does not say the rest; what it leaves out stays. A change older than
 * what is known is superseded.
 */
export interface OrderChange extends OrderVersion {
  orderId: string;
  /** Without operations beside it, it goes for them as `operationsUnderStatus` has it. */
  status?: OrderStatus;
  operations?: OperationChange[];
  /** Which of them it names every place of: the places that are known and not among them go. */
  replaces?: ReplacedOperations;
}

/**
 * Operations of which a change names every place, by id; `all` where it does so for the order as a whole. An
 * entry that is known of them and that the change does not name is gone.
 */
export type ReplacedOperations = 'all' | readonly string[];

/** One operation of an order; it names its machine, or the work centre that an equipment map resolves. */
export interface OrderOperation {
  operationId: string;
  machineId?: string;
  workCentre?: string;
  plant?: string;
  status: OrderStatus;
  /** Whole number; 0 or absent sorts last. */
  sequence?: number;
  /** Epoch seconds. */
  plannedStart?: number;
}

/** What is new about an operation; what it leaves out stays as it is known. */
export type OperationChange = Pick<OrderOperation, 'operationId'> & Partial<OrderOperation>;

/** An operation that is done at several places is an entry for each of them, under this id. */
export function operationIdAt(operationId: string, workCentre: string): string {
  return `${operationId}/${workCentre}`;
}

export const ORDER_STATUSES = [
  'planned',
  'released',
  'started',
  'held',
  'completed',
  'cancelled',
] as const;

export type OrderStatus = (typeof ORDER_STATUSES)[number];

export function isOver(status: OrderStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}

/** By the count where both have one of the same counter, else by `changedAt`; equals are not older. */
export function isOlderVersion(version: OrderVersion, than: OrderVersion): boolean {
  const [mine, other] = [version.fence, than.fence];
  if (mine === undefined || other?.counter !== mine.counter) {
    return version.changedAt < than.changedAt;
  }
  return isLess(withoutZeros(mine.value), withoutZeros(other.value));
}

/** Counters outgrow what a number holds exactly. */
function isLess(digits: string, than: string): boolean {
  return digits.length === than.length ? digits < than : digits.length < than.length;
}

function withoutZeros(digits: string): string {
  return digits.replace(/^0+/, '');
}

const orderStatus: FieldParser<OrderStatus> = (value) =>
  ORDER_STATUSES.find((status) => status === value) ??
  new FieldProblem(`must be one of ${ORDER_STATUSES.join(', ')}`);

/** An order as it is written, its operations still to be read. */
type OrderFields<T extends OrderSnapshot | OrderChange> = Pick<
  T,
  'orderId' | 'changedAt' | 'status'
> & { operations?: unknown[] };

const CHANGE_FIELDS = {
  orderId: identifier,
  changedAt: time,
  status: optional(orderStatus),
  operations: optional(list),
};
const SNAPSHOT_FIELDS = { ...CHANGE_FIELDS, status: orderStatus };

/**
 * Reads `erp.work-orders.v1` in its canonical form from a JSON value. An operation without a status has
 * the order's; an order that is over may leave them out, for it stands on no list. Refusals: `invalid-message`,
 * `too-large` (more than 10,000 operations); one bad operation refuses the order, because a snapshot with a hole
 * would take work off a machine.
 */
export function parseOrderMessage(json: unknown): Parsed<OrderSnapshot> {
  const fields = readFields<OrderFields<OrderSnapshot>>(SNAPSHOT_FIELDS, json);
  if (!fields.ok) return fields;
  const { orderId, changedAt, status, operations: given } = fields.value;
  if (given === undefined && !isOver(status))
    return rejected('invalid-message', 'operations is missing');
  const operations = readEach(orderId, given ?? [], (entry, path) => {
    const operation = readFields<OperationChange>(OPERATION_FIELDS, entry, path);
    if (!operation.ok) return operation;
    const { machineId, workCentre, status: own = status } = operation.value;
    if (machineId === undefined && workCentre === undefined) {
      return rejected('invalid-message', `${path} names neither a machineId nor a workCentre`);
    }
    return parsed(Object.assign(operation.value, { status: own }));
  });
  if (!operations.ok) return operations;
  return parsed({ orderId, changedAt, status, operations: operations.value });
}

/** Checks a change by the rules of the canonical form. Refusals: `invalid-message`, `too-large`. */
export function parseOrderChange(json: unknown): Parsed<OrderChange> {
  const fields = readFields<OrderFields<OrderChange>>(CHANGE_FIELDS, json);
  if (!fields.ok) return fields;
  const { operations: given, ...change } = fields.value;
  if (given === undefined) return parsed(change);
  const operations = readEach(change.orderId, given, (entry, path) =>
    readFields<OperationChange>(OPERATION_FIELDS, entry, path),
  );
  return operations.ok ? parsed({ ...change, operations: operations.value }) : operations;
}

const OPERATION_FIELDS = {
  operationId: identifier,
  machineId: optional(identifier),
  workCentre: optional(identifier),
  plant: optional(identifier),
  status: optional(orderStatus),
  sequence: optional(wholeNumber),
  plannedStart: optional(time),
};

/** On a list an operation is `orderId-operationId`: with one that is too long, no list of its machine would be taken. */
function readEach<T extends OperationChange>(
  orderId: string,
  entries: readonly unknown[],
  read: (entry: unknown, path: string) => Parsed<T>,
): Parsed<T[]> {
  const operations: T[] = [];
  const seen = new Set<string>();
  for (const entry of entries) {
    const path = `operations[${operations.length}]`;
    const operation = read(entry, path);
    if (!operation.ok) return operation;
    const { operationId } = operation.value;
    if (seen.has(operationId)) {
      return rejected('invalid-message', `${path} repeats operationId ${operationId}`);
    }
    const tooLong = orderId.length + 1 + operationId.length - MAX_IDENTIFIER_LENGTH;
    if (tooLong > 0) {
      const what = `${path}: orderId and operationId are ${tooLong} characters too long together`;
      return rejected('invalid-message', what);
    }
    seen.add(operationId);
    operations.push(operation.value);
  }
  return parsed(operations);
}
