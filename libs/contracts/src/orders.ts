/** A sender's message about one order: the whole order, or a change. */
export type OrderMessage =
  { kind: 'snapshot'; order: OrderSnapshot } | { kind: 'change'; order: OrderChange };

/**
 * A sender's own count of its messages. It orders two changes of one second, and changes around a clock that is set
 * back; it compares only with values of the same counter. Records and documents name it `fence`.
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

/** The whole order. A snapshot older than the order in the ledger is superseded. */
export interface OrderSnapshot extends OrderVersion {
  orderId: string;
  status: OrderStatus;
  operations: OrderOperation[];
}

/**
 * A change of an order. The ledger keeps the fields that it leaves out. A change older than the order in the ledger is
 * superseded.
 */
export interface OrderChange extends OrderVersion {
  orderId: string;
  /** Without `operations`, it applies to the operations by the rules of `operationsUnderStatus`. */
  status?: OrderStatus;
  operations?: OperationChange[];
  /** The operations whose every place it names. */
  replaces?: ReplacedOperations;
}

/**
 * Ids of operations for which a change names every place, or `all`. The ledger removes the other entries of these
 * operations.
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

/** A change of an operation. The ledger keeps the fields that it leaves out. */
export type OperationChange = Pick<OrderOperation, 'operationId'> & Partial<OrderOperation>;

/** Id of the entry for one place of an operation that is done at several. */
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

export function isFinishedStatus(status: OrderStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}

/** Compares by the source sequence where both have one of the same counter, else by `changedAt`. Equal is not older. */
export function isOlderVersion(version: OrderVersion, than: OrderVersion): boolean {
  const [mine, other] = [version.fence, than.fence];
  if (mine === undefined || other?.counter !== mine.counter) {
    return version.changedAt < than.changedAt;
  }
  return isLess(withoutZeros(mine.value), withoutZeros(other.value));
}

/** Compares digits: a counter may exceed the integers that a number holds exactly. */
function isLess(digits: string, than: string): boolean {
  return digits.length === than.length ? digits < than : digits.length < than.length;
}

function withoutZeros(digits: string): string {
  return digits.replace(/^0+/, '');
}
