import {
  isOlderVersion,
  type OrderMessage,
  type OrderOperation,
  type OrderSnapshot,
  type OrderStatus,
  type OrderVersion,
  type Rejection,
} from '#libs/contracts';
import { applyOrderMessage, type OrderApplication } from './apply-order-message.js';
import type { AssignedOperation } from './assignment-table.js';
import {
  isFinished,
  type KnownOrder,
  type MessagePosition,
  toKnownOrder,
  wasSentBefore,
  withPossibleTime,
} from './known-order.js';

/** The part of one message that concerns one order. */
export interface ReceivedOrder {
  /** In the order of the document; at least one. */
  messages: readonly OrderMessage[];
  position: MessagePosition;
  /** Machines rejected when the message was read: the order is not put on them unless it is on their list already. */
  refused?: readonly string[] | undefined;
  /** The order was rejected for operations without a machine when it was read; it is not rejected for them again. */
  wasUnmapped?: boolean | undefined;
}

/** An outcome of the order in addition to those of the machines' lists. */
export type OrderFinding =
  | { kind: 'superseded'; machineId: string | null; detail: string }
  /** `unmapped`: the operations without a machine, if they are the cause. */
  | { kind: 'rejected'; rejection: Rejection; unmapped?: readonly OrderOperation[] }
  /** The order affects no machine, and is applied. */
  | { kind: 'taken-in' };

export interface AppliedOrder {
  /** The new known order; undefined if it has not changed. */
  known: KnownOrder | undefined;
  /** The order's operations on each machine that it names or has left; may be empty. */
  assignments: ReadonlyMap<string, readonly AssignedOperation[]>;
  findings: readonly OrderFinding[];
}

/**
 * Applies a message to an order. Pure: returns the new known order.
 *
 * @param latestSeconds the latest possible time of a change, in epoch seconds; no limit if absent
 */
export function applyToOrder(
  { messages, position, refused = [], wasUnmapped = false }: ReceivedOrder,
  known: KnownOrder | undefined,
  machineOf: MachineOf,
  latestSeconds?: number,
): AppliedOrder {
  if (stepsOf(messages, known) > MAX_STEPS) return tooLarge(messages);
  let latest = known;
  const assignments = new Map<string, readonly AssignedOperation[]>();
  const rejected: OrderFinding[] = [];
  const superseded = new Set<string>();
  let older: string | undefined;
  let isTakenIn = false;
  for (const message of messages) {
    const { orderId } = message.order;
    const before = withPossibleTime(latest, message, latestSeconds);
    const met = applyIfNewer(before, message, position);
    if (met.kind === 'unknown-order') {
      const rejection = { code: 'invalid-message', detail: unknownOrder(orderId, before) } as const;
      rejected.push({ kind: 'rejected', rejection });
      continue;
    }
    // A change concerns the machines of the whole order.
    const isSnapshot = message.kind === 'snapshot';
    const order = met.kind === 'superseded' ? met.known : met.order;
    const placed = isSnapshot ? message.order : order;
    const { machines, sharing } = placeOrder(placed, machineOf);
    if (met.kind === 'superseded') {
      older ??= `order ${orderId} ${whyOlder(message.order, order)}`;
      for (const machineId of machines.keys()) superseded.add(machineId);
      continue;
    }
    isTakenIn = true;
    // A whole order was mapped when it was read, but the map may have changed since.
    const unmapped = unmappedOperations(placed, machineOf);
    if (unmapped.length > 0 && !(isSnapshot && wasUnmapped)) {
      rejected.push({ kind: 'rejected', rejection: rejectUnmapped(orderId, unmapped), unmapped });
    }
    const standsOn = before?.machineIds ?? [];
    const listedOn: string[] = [];
    for (const machineId of new Set([...standsOn, ...machines.keys()])) {
      if (refused.includes(machineId) && !standsOn.includes(machineId)) continue;
      const operations = machines.get(machineId) ?? [];
      if (operations.length > 0) listedOn.push(machineId);
      assignments.set(machineId, operations);
    }
    if (met.kind === 'applied') latest = toKnownOrder(order, listedOn, position, sharing);
  }
  const findings = [...rejected];
  for (const machineId of superseded) {
    // A machine gets one outcome, that of its change if there is one.
    if (assignments.has(machineId) || refused.includes(machineId)) continue;
    findings.push({ kind: 'superseded', machineId, detail: older ?? '' });
  }
  if (findings.length === 0 && assignments.size === 0) {
    if (isTakenIn || older === undefined) findings.push({ kind: 'taken-in' });
    else findings.push({ kind: 'superseded', machineId: null, detail: older });
  }
  return { known: latest === known ? undefined : latest, assignments, findings };
}

/**
 * A whole order takes a step for each of its operations, a change for each known one. This many take up to half a
 * second; a document of a megabyte may ask for a hundred times as many, and block everything else meanwhile.
 */
const MAX_STEPS = 1_000_000;

/** An upper bound. */
function stepsOf(messages: readonly OrderMessage[], known: KnownOrder | undefined): number {
  let operations = known?.operations.length ?? 0;
  let steps = 0;
  for (const { kind, order } of messages) {
    const named = order.operations?.length ?? 0;
    operations = kind === 'snapshot' ? Math.max(operations, named) : operations + named;
    steps += kind === 'snapshot' ? named : operations;
  }
  return steps;
}

function tooLarge(messages: readonly OrderMessage[]): AppliedOrder {
  const orderId = messages[0]?.order.orderId ?? '';
  const named = `the document names order ${orderId} ${messages.length} times`;
  const detail = `${named}, which is too often for its operations: send several documents`;
  const rejection: Rejection = { code: 'too-large', detail };
  return { known: undefined, assignments: new Map(), findings: [{ kind: 'rejected', rejection }] };
}

/**
 * Applies a message unless it is older. A message as old as the known order counts as newer, because an ERP may change
 * an order twice in a second; but not if it was sent before the known order's message, whose change it would undo.
 */
function applyIfNewer(
  known: KnownOrder | undefined,
  message: OrderMessage,
  position: MessagePosition,
): OrderApplication {
  if (known === undefined) return applyOrderMessage(undefined, message);
  const { changedAt, status, operations, fence } = known;
  const order: OrderSnapshot = { orderId: message.order.orderId, changedAt, status, operations };
  if (fence !== undefined) order.fence = fence;
  const isAsOld = !isOlderVersion(order, message.order);
  if (isAsOld && wasSentBefore(position, known.from)) return { kind: 'superseded', known: order };
  return applyOrderMessage(order, message);
}

/** Says what was compared: counts of the same counter take precedence over times. */
function whyOlder(received: OrderVersion, known: OrderVersion): string {
  const { fence } = received;
  return fence !== undefined && fence.counter === known.fence?.counter
    ? `came with ${fence.counter} ${fence.value}; known is ${known.fence.value}`
    : `changed at ${received.changedAt}; known is the change of ${known.changedAt}`;
}

function unknownOrder(orderId: string, known: KnownOrder | undefined): string {
  return known === undefined
    ? `order ${orderId} is not known, and the message does not say where it is done`
    : `order ${orderId} was finished, and where it is done is forgotten: send the whole order again`;
}

const LISTED: ReadonlySet<OrderStatus> = new Set(['released', 'started', 'held']);

export type MachineOf = (operation: OrderOperation) => string | undefined;

interface PlacedOrder {
  /** The operations that belong on the list of each machine that the order names; may be empty. */
  machines: ReadonlyMap<string, readonly AssignedOperation[]>;
  /** Two operations of each machine that has several, because of which the entries there include operation ids. */
  sharing: readonly OrderOperation[];
}

function placeOrder(order: OrderSnapshot, machineOf: MachineOf): PlacedOrder {
  const isOver = isFinished(order);
  const named = new Map<string, OrderOperation[]>();
  for (const operation of order.operations) {
    const machineId = machineOf(operation);
    if (machineId === undefined) continue;
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
  return { machines, sharing };
}

/** Operations that should be on a list but have no machine. */
export function unmappedOperations(order: OrderSnapshot, machineOf: MachineOf): OrderOperation[] {
  if (isFinished(order)) return [];
  return order.operations.filter(
    (operation) => LISTED.has(operation.status) && machineOf(operation) === undefined,
  );
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
