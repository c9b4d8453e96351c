import { type OrderOperation } from '#libs/contracts';
import { type CommandResult, rejection } from '../../command-delivery/index.js';

/** An operation that should be on a list and has no machine. */
export interface UnmappedOperation {
  orderId: string;
  operation: OrderOperation;
}

const PLACES_NAMED = 5;

/** One rejection for all operations of a message that have no machine; none when all have one. */
export function rejectUnmapped(unmapped: readonly UnmappedOperation[]): CommandResult[] {
  if (unmapped.length === 0) return [];
  const places = unmapped.map(({ orderId, operation: { plant, workCentre } }) => {
    return `${plant ?? '?'}/${workCentre ?? '?'} of order ${orderId}`;
  });
  const distinct = [...new Set(places)];
  const more = distinct.length - PLACES_NAMED;
  const named = distinct.slice(0, PLACES_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return [
    rejection({
      code: 'unmapped-work-centre',
      detail: `no machine is mapped for plant/work centre ${named}`,
    }),
  ];
}
