import {
  isOlderVersion,
  type OrderMessage,
  type OrderOperation,
  type OrderSnapshot,
  type OrderVersion,
  type Rejection,
} from '#libs/contracts';
import { applyOrderMessage, type OrderApplication } from './apply-order-message.js';
import type { AssignedOperation } from './assignment-table.js';
import {
  believedOf,
  isBefore,
  type KnownOrder,
  type MessagePosition,
  toKnownOrder,
} from './known-order.js';
import { type MachineOf, placeOrder, rejectUnmapped } from './place-order.js';

/** The part of one message that is about one order. */
export interface ReceivedOrder {
  /** In the order of the document; one at least. */
  messages: readonly OrderMessage[];
  position: MessagePosition;
  /** Machines it names that were refused when it was read: it is put on none of them where it is not listed already. */
  refused?: readonly string[] | undefined;
  /** The order was refused for operations without a machine when it was read, and is not again. */
  wasUnmapped?: boolean | undefined;
}

/** An outcome of the order, beside those of the machines' lists. */
export type OrderFinding =
  | { kind: 'superseded'; machineId: string | null; detail: string }
  /** `unmapped` are its operations without a machine, if it is rejected for them. */
  | { kind: 'rejected'; rejection: Rejection; unmapped?: readonly OrderOperation[] }
  /** The order concerns no machine, and is applied. */
  | { kind: 'taken-in' };

export interface AppliedOrder {
  /** The order as known from now on; undefined where it has not changed. */
  known: KnownOrder | undefined;
  /** What of it belongs on the list of each machine that it names or has left, which may be nothing. */
  assignments: ReadonlyMap<string, readonly AssignedOperation[]>;
  findings: readonly OrderFinding[];
}

/**
 * Applies a message to an order. Pure: the known order changes by the returned value alone.
 *
 * @param latestSeconds epoch seconds after which no change can have been made; any can be if absent
 */
export function applyToOrder(
  { messages, position, refused = [], wasUnmapped = false }: ReceivedOrder,
  known: KnownOrder | undefined,
  machineOf: MachineOf,
  latestSeconds?: number,
): AppliedOrder {
  if (stepsOf(messages, known) > MOST_STEPS) return tooLarge(messages);
  let latest = known;
  const assignments = new Map<string, readonly AssignedOperation[]>();
  const rejected: OrderFinding[] = [];
  const superseded = new Set<string>();
  let older: string | undefined;
  let isTakenIn = false;
  for (const message of messages) {
    const { orderId } = message.order;
    const before = believedOf(latest, message, latestSeconds);
    const met = meet(before, message, position);
    if (met.kind === 'unknown-order') {
      const rejection = { code: 'invalid-message', detail: unknownOrder(orderId, before) } as const;
      rejected.push({ kind: 'rejected', rejection });
      continue;
    }
    // A change names no machines by itself: it goes for those of the order.
    const isSnapshot = message.kind === 'snapshot';
    const order = met.kind === 'superseded' ? met.known : met.order;
    const { machines, unmapped, sharing } = placeOrder(
      isSnapshot ? message.order : order,
      machineOf,
    );
    if (met.kind === 'superseded') {
      older ??= `order ${orderId} ${whyOlder(message.order, order)}`;
      for (const machineId of machines.keys()) superseded.add(machineId);
      continue;
    }
    isTakenIn = true;
    // a whole order was mapped when it was read, but the map may be another one by now
    if (unmapped.length > 0 && !(isSnapshot && wasUnmapped)) {
      rejected.push({ kind: 'rejected', rejection: rejectUnmapped(orderId, unmapped), unmapped });
    }
    const standsOn = before?.machineIds ?? [];
    const listedOn: string[] = [];
    const concerned =
      standsOn.length === 0 ? machines.keys() : new Set([...standsOn, ...machines.keys()]);
    for (const machineId of concerned) {
      if (refused.includes(machineId) && !standsOn.includes(machineId)) continue;
      const operations = machines.get(machineId) ?? [];
      if (operations.length > 0) listedOn.push(machineId);
      assignments.set(machineId, operations);
    }
    if (met.kind === 'applied') latest = toKnownOrder(order, listedOn, position, sharing);
  }
  const findings = [...rejected];
  for (const machineId of superseded) {
    // a machine is answered once, and by what changes there if something does
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
 * A whole order looks at its operations, a change at all that are known. So many take up to half a second; a document of
 * a megabyte may ask for a hundred times as many, and nothing else would go on meanwhile.
 */
const MOST_STEPS = 1_000_000;

/** At the most. */
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
 * Resolves the version of an order. A message as old as the known order counts as newer: an ERP may change an order
 * twice in a second. But not when it was sent before the message of the known order: it would undo the later change.
 */
function meet(
  known: KnownOrder | undefined,
  message: OrderMessage,
  position: MessagePosition,
): OrderApplication {
  if (known === undefined) return applyOrderMessage(undefined, message);
  const { changedAt, status, operations, fence } = known;
  const order: OrderSnapshot = { orderId: message.order.orderId, changedAt, status, operations };
  if (fence !== undefined) order.fence = fence;
  const isAsOld = !isOlderVersion(order, message.order);
  if (isAsOld && isBefore(position, known.from)) return { kind: 'superseded', known: order };
  return applyOrderMessage(order, message);
}

/** By what they were compared: counts of one counter come before times. */
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
