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
