import { type OrderMessage, type OrderVersion, type Rejection } from '#libs/contracts';
import { type CommandResult, rejection } from '../../command-delivery/index.js';
import { type OrderAssignment } from '../assignments/assigned-operation.js';
import { type GatheredOrders } from './gathered-orders.js';
import { believedOf, isWrittenFrom, type KnownOrder, toKnownOrder } from './known-order.js';
import { meetKnownOrder } from './meet-known-order.js';
import { type MessagePosition } from './message-position.js';
import { type MachineOf, placeOrder } from './place-order.js';
import { type UnmappedOperation } from './reject-unmapped.js';
import { isTakenInAgain, type OrderStanding } from './without-machine.js';

/** The orders one message tells of. */
export interface ToldOrders {
  position: MessagePosition;
  orders: readonly OrderMessage[];
  /** Machines it names that do not exist. */
  unknownMachines: ReadonlyMap<string, Rejection>;
}

/** The orders of a partition, as they are known so far. */
export interface OrderView {
  get: (orderId: string) => KnownOrder | undefined;
  set: (orderId: string, order: KnownOrder) => void;
  /** Epoch seconds after which no change can have been made; any can be if absent. */
  latestSeconds?: number;
}

/** What follows from what one message tells of some orders. */
export interface OrderConsequences {
  /** By machine: what they change there. */
  assignments: ReadonlyMap<string, readonly OrderAssignment[]>;
  gathered: GatheredOrders;
  /** The ledger has the message: what it changed on machines was written together with that, and will be answered. */
  isWritten: boolean;
  /** It leaves something in the ledger. */
  isRecorded: boolean;
}

/** What its orders have come to so far. */
interface Gathered {
  assignments: Map<string, OrderAssignment[]>;
  results: CommandResult[];
  unmapped: UnmappedOperation[];
  standings: OrderStanding[];
  /** Orders it has told of: what is known of them is from itself. */
  met: Set<string>;
  isWritten: boolean;
  isRecorded: boolean;
  /** It brings what it did not when it came first: an order that was refused then, or one for a machine that was unknown. */
  hasNews: boolean;
}

/** Takes in what one message tells of orders, one after the other. */
export function deriveOrders(
  told: ToldOrders,
  view: OrderView,
  machineOf: MachineOf,
): OrderConsequences {
  const gathered: Gathered = {
    assignments: new Map(),
    results: [],
    unmapped: [],
    standings: [],
    met: new Set(),
    isWritten: false,
    isRecorded: false,
    hasNews: false,
  };
  for (const order of told.orders) takeIn(order, told, view, machineOf, gathered);
  const { assignments, results, unmapped, standings } = gathered;
  const machineIds = [...assignments.keys()];
  const isWritten = gathered.isWritten && !gathered.hasNews;
  const { isRecorded } = gathered;
  return {
    assignments,
    gathered: { machineIds, results, unmapped, standings },
    isWritten,
    isRecorded,
  };
}

function takeIn(
  message: OrderMessage,
  told: ToldOrders,
  view: OrderView,
  machineOf: MachineOf,
  gathered: Gathered,
): void {
  const { orderId } = message.order;
  const { results, standings, met } = gathered;
  const known = believedOf(view.get(orderId), message, view.latestSeconds);
  const meeting = meetKnownOrder(known, message, told.position);
  if (meeting.kind === 'unknown-order') {
    results.push(rejection({ code: 'invalid-message', detail: unknownOrder(orderId, known) }));
    return;
  }
  const { order } = meeting;
  // A change names no machines by itself: it goes for those of the order.
  const placed = placeOrder(message.kind === 'snapshot' ? message.order : order, machineOf);
  const isRepeated = !met.has(orderId) && isTakenInAgain(known, message, told.position);
  const isFromHere = known !== undefined && isWrittenFrom(told.position, known);
  if (isFromHere && !met.has(orderId)) gathered.isWritten = true;
  // refused when the message came first, it was not written with the others
  if (meeting.kind === 'recorded' && !isFromHere) gathered.hasNews = true;
  met.add(orderId);
  if (meeting.kind === 'superseded') {
    const detail = `order ${orderId} ${whyOlder(message.order, order)}`;
    for (const machineId of placed.machines.keys()) {
      results.push({ kind: 'superseded', machineId, attempts: 0, detail });
    }
    standings.push(isRepeated ? { kind: 'repeated' } : { kind: 'superseded', detail });
    return;
  }
  standings.push({ kind: isRepeated ? 'repeated' : 'taken-in' });
  for (const operation of placed.unmapped) gathered.unmapped.push({ orderId, operation });
  const { machines } = meeting.kind === 'repeated' ? placeOrder(order, machineOf) : placed;
  const before = known?.machineIds ?? [];
  const listedOn: string[] = [];
  const named = placed.machines.keys();
  for (const machineId of before.length === 0 ? named : new Set([...before, ...named])) {
    const refusal = told.unknownMachines.get(machineId);
    // What it must be taken off is not asked about: it is known here.
    if (refusal !== undefined && !before.includes(machineId)) {
      results.push(rejection(refusal, machineId));
      continue;
    }
    const operations = machines.get(machineId) ?? [];
    if (operations.length > 0) listedOn.push(machineId);
    gathered.hasNews ||= operations.length > 0 && !before.includes(machineId);
    append(gathered.assignments, machineId, { orderId, operations });
  }
  if (meeting.kind === 'recorded') {
    gathered.isRecorded = true;
    view.set(orderId, toKnownOrder(order, listedOn, told.position, known));
  }
}

/** By what they were compared: counts of one counter come before times. */
function whyOlder(told: OrderVersion, known: OrderVersion): string {
  const { fence } = told;
  return fence !== undefined && fence.counter === known.fence?.counter
    ? `came with ${fence.counter} ${fence.value}; known is ${known.fence.value}`
    : `changed at ${told.changedAt}; known is the change of ${known.changedAt}`;
}

function unknownOrder(orderId: string, known: KnownOrder | undefined): string {
  return known === undefined
    ? `order ${orderId} is not known, and the message does not say where it is done`
    : `order ${orderId} was finished, and where it is done is forgotten: send the whole order again`;
}

function append(
  assignments: Map<string, OrderAssignment[]>,
  machineId: string,
  assignment: OrderAssignment,
): void {
  const others = assignments.get(machineId);
  if (others === undefined) assignments.set(machineId, [assignment]);
  else others.push(assignment);
}
