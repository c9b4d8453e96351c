import type { OrderOperation, OrderSnapshot, OrderStatus, Rejection } from '#libs/contracts';
import type { AssignedOperation } from './assignment-table.js';
import { isFinished } from './known-order.js';

const LISTED: ReadonlySet<OrderStatus> = new Set(['released', 'started', 'held']);

export type MachineOf = (operation: OrderOperation) => string | undefined;

interface PlacedOrder {
  /** The operations that belong on the list of each machine that the order names; may be empty. */
  machines: ReadonlyMap<string, readonly AssignedOperation[]>;
  /** Operations that should be on a list but have no machine. */
  unmapped: readonly OrderOperation[];
  /** Two operations of each machine that has several, because of which the entries there include operation ids. */
  sharing: readonly OrderOperation[];
}

export function placeOrder(order: OrderSnapshot, machineOf: MachineOf): PlacedOrder {
  const isOver = isFinished(order);
  const named = new Map<string, OrderOperation[]>();
  const unmapped: OrderOperation[] = [];
  for (const operation of order.operations) {
    const machineId = machineOf(operation);
    if (machineId === undefined) {
      if (!isOver && LISTED.has(operation.status)) unmapped.push(operation);
      continue;
    }
    const others = named.get(machineId);
    if (others === undefined) named.set(machineId, [operation]);
    else others.push(operation);
  }
  const machines = new Map<string, AssignedOperation[]>();
  const sharing: OrderOperation[] = [];
  for (const [machineId, operations] of named) {
    const assigned: AssignedOperation[] = [];
    machines.set(machineId, assigned);
    if (operations.length > 1) sharing.push(...operations.slice(0, 2));
    for (const { operationId, status, sequence, plannedStart } of isOver ? [] : operations) {
      if (!LISTED.has(status)) continue;
      // Counts all operations of the order there, so that the entry's name does not change when one is done.
      const entry = operations.length === 1 ? order.orderId : `${order.orderId}-${operationId}`;
      const operation: AssignedOperation = { entry, operationId };
      if (sequence !== undefined && sequence !== 0) operation.sequence = sequence;
      if (plannedStart !== undefined) operation.plannedStart = plannedStart;
      assigned.push(operation);
    }
  }
  return { machines, unmapped, sharing };
}

const PLACES_NAMED = 5;
const WITHOUT_PLANT = ', which names no plant: its work centre has to be that of one plant alone';

/** One rejection for all operations of an order that have no machine. */
export function rejectUnmapped(orderId: string, unmapped: readonly OrderOperation[]): Rejection {
  const places = unmapped.map(({ plant, workCentre }) => `${plant ?? '?'}/${workCentre ?? '?'}`);
  const distinct = [...new Set(places)];
  const more = distinct.length - PLACES_NAMED;
  const named = distinct.slice(0, PLACES_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
  // The map may have the work centre for several plants.
  const hint = unmapped.some(({ plant }) => plant === undefined) ? WITHOUT_PLANT : '';
  const detail = `no machine is mapped for plant/work centre ${named} of order ${orderId}${hint}`;
  return { code: 'unmapped-work-centre', detail };
}
