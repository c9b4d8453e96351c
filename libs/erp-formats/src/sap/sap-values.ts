import type { OperationChange, OrderStatus } from '#libs/contracts';

/**
 * SAP system statuses that say where an order or operation stands, strongest first: an object carries
 * several at once (released, confirmed and technically completed, say).
 */
const STATUS_BY_CODE: readonly (readonly [code: string, status: OrderStatus])[] = [
  ['I0013', 'cancelled'], // DLT, deleted
  ['I0076', 'cancelled'], // DLFL, deletion flag
  ['I0046', 'completed'], // CLSD, closed
  ['I0045', 'completed'], // TECO, technically completed
  ['I0009', 'completed'], // CNF, finally confirmed: the work is done
  ['I0043', 'held'], // LKD, locked
  ['I0010', 'started'], // PCNF, partially confirmed
  ['I0002', 'released'], // REL
  ['I0042', 'released'], // PREL, some operations are released
  ['I0001', 'planned'], // CRTD
];

/** The status that a set of system status codes amounts to; undefined when none of them says. */
export function statusOf(codes: readonly string[]): OrderStatus | undefined {
  return STATUS_BY_CODE.find(([code]) => codes.includes(code))?.[1];
}

/**
 * Id of an operation, out of what it says of itself alone: an answer that holds it without its neighbours must
 * name it as one that holds them all. Sequences number their operations each for itself; the standard
 * sequence, whose number is zeros, needs no mention.
 */
export function operationIdOf(number: string, sequence: string | undefined): string {
  return sequence === undefined || /^0*$/.test(sequence) ? number : `${number}/${sequence}`;
}

/**
 * Operations without the deleted ones whose number another one has: SAP keeps what is deleted of a released order, and its number is
 * free again. Such an operation is no work.
 */
export function withoutDeletedNamesakes<T extends OperationChange>(operations: readonly T[]): T[] {
  const isDeleted = ({ status }: T): boolean => status === 'cancelled';
  const taken = new Set(operations.flatMap((each) => (isDeleted(each) ? [] : each.operationId)));
  return operations.filter((each) => {
    if (!isDeleted(each)) return true;
    if (taken.has(each.operationId)) return false;
    taken.add(each.operationId);
    return true;
  });
}

/** Numeric order numbers are padded with zeros on the wire and shown without them; others are as they are. */
export function orderNumber(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return text;
  const number = text.replace(/^0+/, '');
  return number === '' ? undefined : number;
}
