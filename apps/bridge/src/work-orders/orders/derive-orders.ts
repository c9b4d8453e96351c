import { type OrderMessage, type Rejection } from '#libs/contracts';
import { type CommandResult, rejection } from '../../command-delivery/index.js';
import { type OrderAssignment } from '../assignments/assigned-operation.js';
import { type KnownOrder, toKnownOrder } from './known-order.js';
import { meetKnownOrder } from './meet-known-order.js';
import { type MachineOf, placeOrder } from './place-order.js';
import { rejectUnmapped, type UnmappedOperation } from './reject-unmapped.js';
import {
  answerWithoutMachine,
  type AnswerWithoutMachine,
  isTakenInAgain,
  type OrderStanding,
} from './without-machine.js';

/** The orders one message tells of. */
export interface ToldOrders {
  offset: number;
  orders: readonly OrderMessage[];
  /** Machines it names that do not exist. */
  unknownMachines: ReadonlyMap<string, Rejection>;
}

/** The orders of a partition, as they are known so far. */
export interface OrderView {
  get: (orderId: string) => KnownOrder | undefined;
  set: (orderId: string, order: KnownOrder) => void;
}

/** What follows from one message. */
export interface OrderConsequences {
  /** By machine: what its orders change there. */
  assignments: Map<string, OrderAssignment[]>;
  /** What is known of it without a call. */
  results: CommandResult[];
  /** Operations that have no machine; rejected among the results. */
  unmapped: UnmappedOperation[];
  /** All there is to say of it where it concerns no machine: then there is nothing else. */
  withoutMachine: AnswerWithoutMachine | undefined;
}

/** What its orders have come to so far. */
interface Gathered extends Omit<OrderConsequences, 'withoutMachine'> {
  standings: OrderStanding[];
  /** Orders it has told of: what is known of them is from itself. */
  met: Set<string>;
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
  };
  for (const order of told.orders) takeIn(order, told, view, machineOf, gathered);
  const { assignments, unmapped, standings } = gathered;
  // A machine is answered once a message: where an order of it is superseded and another one is not, by that.
  const answered = gathered.results.filter(
    ({ kind, machineId }) =>
      kind !== 'superseded' || machineId === null || !assignments.has(machineId),
  );
  const results = [...answered, ...rejectUnmapped(unmapped)];
  const isSilent = assignments.size === 0 && results.length === 0;
  const withoutMachine = isSilent ? answerWithoutMachine(standings) : undefined;
  return { assignments, results, unmapped, withoutMachine };
}

function takeIn(
  message: OrderMessage,
  told: ToldOrders,
  view: OrderView,
  machineOf: MachineOf,
  gathered: Gathered,
): void {
  const { orderId, changedAt } = message.order;
  const { results, standings, met } = gathered;
  const known = view.get(orderId);
  const meeting = meetKnownOrder(known, message, told.offset);
  if (meeting.kind === 'unknown-order') {
    results.push(rejection({ code: 'invalid-message', detail: unknownOrder(orderId, known) }));
    return;
  }
  const { order } = meeting;
  // A change names no machines by itself: it goes for those of the order.
  const placed = placeOrder(message.kind === 'snapshot' ? message.order : order, machineOf);
  const isRepeated = !met.has(orderId) && isTakenInAgain(known, message, told.offset);
  met.add(orderId);
  if (meeting.kind === 'superseded') {
    const detail = `order ${orderId} changed at ${changedAt}; known is the change of ${order.changedAt}`;
    for (const machineId of placed.machines.keys()) {
      results.push({ kind: 'superseded', machineId, attempts: 0, detail });
    }
    standings.push(isRepeated ? { kind: 'repeated' } : { kind: 'superseded', detail });
    return;
  }
  standings.push({ kind: isRepeated ? 'repeated' : 'taken-in' });
  for (const operation of placed.unmapped) gathered.unmapped.push({ orderId, operation });
  const { machines } = meeting.kind === 'recorded' ? placed : placeOrder(order, machineOf);
  const before = known?.machineIds ?? [];
  const listedOn: string[] = [];
  for (const machineId of new Set([...before, ...placed.machines.keys()])) {
    const refusal = told.unknownMachines.get(machineId);
    // What it must be taken off is not asked about: it is known here.
    if (refusal !== undefined && !before.includes(machineId)) {
      results.push(rejection(refusal, machineId));
      continue;
    }
    const operations = machines.get(machineId) ?? [];
    if (operations.length > 0) listedOn.push(machineId);
    append(gathered.assignments, machineId, { orderId, operations });
  }
  if (meeting.kind === 'recorded') view.set(orderId, toKnownOrder(order, listedOn, told.offset));
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
