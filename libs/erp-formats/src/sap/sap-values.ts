import type { OperationChange, OrderStatus } from '#libs/contracts';

/**
 * SAP system statuses that determine the status of an order or operation, strongest first: an object has several at
 * once (for example released, confirmed and technically completed).
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

/** The status for a set of system status codes; undefined where none of them determines it. */
export function statusOf(codes: readonly string[]): OrderStatus | undefined {
  return STATUS_BY_CODE.find(([code]) => codes.includes(code))?.[1];
}

/**
 * Id of an operation, from its own fields only: it must be the same in an answer with all operations and in one with
 * some of them. Each sequence numbers its operations separately; the number of the standard sequence, all zeros, is
 * left out.
 */
export function operationIdOf(number: string, sequence: string | undefined): string {
  return sequence === undefined || /^0*$/.test(sequence) ? number : `${number}/${sequence}`;
}

/**
 * Removes deleted operations whose id another operation has: SAP keeps the deleted operations of a released order, and
 * may assign their numbers again.
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

/** Removes the zeros with which SAP pads numeric order numbers. Others are unchanged. */
export function orderNumber(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return text;
  const number = text.replace(/^0+/, '');
  return number === '' ? undefined : number;
}
