import { type OrderMessage, type OutcomeSource, WORK_ORDER_QUEUES } from '#libs/contracts';
import type { ThinEvent } from '#libs/erp-formats';
import type { AssignedOperation, MessagePosition } from '#libs/order-ledger';
import type { TraceContext } from '#libs/tracing';
import type { RejectedResult } from '../../delivery/index.js';

/** Queues of this flow, without the prefix. Each record has a key of its own until it ends: {@link OrderQueues}. */

/** {@link OrderRequest}, in the partition of the hash of its order's id, as it is asked for. */
export const ORDER_REQUESTS = WORK_ORDER_QUEUES.orderRequests;
/** {@link RelayedOrders}, in the partition of the hash of their ids. */
export const RELAYED_ORDERS = WORK_ORDER_QUEUES.relayedOrders;
/** {@link AssignmentChange}, in the partition of the hash of the machine's id. */
export const ASSIGNMENT_CHANGES = WORK_ORDER_QUEUES.assignmentChanges;
/** {@link OrderRefusal}, in the partition of its message, whose owner dead-letters that. As wide as that topic. */
export const ORDER_REFUSALS = WORK_ORDER_QUEUES.orderRefusals;

export interface QueuedOrder {
  orderId: string;
  source: OutcomeSource;
  /** Where what follows of that message belongs in traces. */
  trace?: TraceContext | undefined;
}

/** An order that an ERP is to be asked for, because a message only names it; written again to let others go first. */
export interface OrderRequest extends QueuedOrder, ThinEvent {
  /** Real epoch milliseconds at which the message was read. */
  receivedAt: number;
  /** Requests made before it was written again. */
  calls?: number;
  /** Its `deferred` outcome has been published. */
  isDeferred?: boolean;
}

/** The part of one message that is about one order. */
export interface RelayedOrder extends QueuedOrder {
  /** In the order of the document; one at least. */
  messages: readonly OrderMessage[];
  /** Epoch milliseconds, of the record of the message. */
  recordedAt: number;
  /** Epoch milliseconds at which the ERP was asked for it; absent where the message itself holds the order. */
  askedAt?: number | undefined;
  /** The ERP does not have the order (any more): why that is known. An unknown order then stays unknown. */
  gone?: string | undefined;
  /** Machines it names that were refused when it was read. */
  refused?: readonly string[] | undefined;
  /** The order was refused then for operations without a machine. */
  wasUnmapped?: boolean | undefined;
  /** An outcome was published then. */
  isAnswered?: boolean | undefined;
}

/** Orders of messages that they end together: with a record for each message, an order took a quarter more CPU. */
export interface RelayedOrders {
  /** In the order of the messages; one at least. */
  orders: readonly RelayedOrder[];
}

/** What one message changes of one order on one machine. */
export interface AssignmentChange extends QueuedOrder {
  machineId: string;
  /** None: the order has left the machine. */
  operations: readonly AssignedOperation[];
  /** The machine was refused when the message was read, with an outcome: its list is set without another. */
  isAnswered?: boolean | undefined;
}

/** What was refused of an order after its message was read. */
export interface OrderRefusal extends QueuedOrder {
  faults: readonly RejectedResult[];
}

/** Where answers of ERPs stand in place of the partition of a message, and those that an order is not there. */
const ASKED = -2;
const GONE = -3;

/** By what equally old messages of an order are compared: their place, or when an ERP was asked for the answer. */
export function positionOf({ source, recordedAt, askedAt, gone }: RelayedOrder): MessagePosition {
  if (askedAt === undefined) {
    return { partition: source.partition, offset: source.offset, recordedAt };
  }
  const partition = gone === undefined ? ASKED : GONE;
  return { partition, offset: askedAt, recordedAt: askedAt };
}

/** Whether an order is known as one that its ERP did not have. */
export function isGone({ from }: { from: MessagePosition }): boolean {
  return from.partition === GONE;
}

export interface Queued {
  [ORDER_REQUESTS]: OrderRequest;
  [RELAYED_ORDERS]: RelayedOrders;
  [ASSIGNMENT_CHANGES]: AssignmentChange;
  [ORDER_REFUSALS]: OrderRefusal;
}

type Json = Record<string, unknown>;

const isOrder = (json: Json): boolean =>
  typeof json['orderId'] === 'string' && typeof json['source'] === 'object';

const IS_QUEUED: Record<keyof Queued, (json: Json) => boolean> = {
  [ORDER_REQUESTS]: (json) =>
    isOrder(json) && typeof json['rule'] === 'string' && typeof json['values'] === 'object',
  [RELAYED_ORDERS]: ({ orders }) =>
    Array.isArray(orders) &&
    (orders as Json[]).every((order) => isOrder(order) && Array.isArray(order['messages'])),
  [ASSIGNMENT_CHANGES]: (json) => isOrder(json) && Array.isArray(json['operations']),
  [ORDER_REFUSALS]: (json) => isOrder(json) && Array.isArray(json['faults']),
};

/** The bridge alone writes these; undefined for what is none of them. */
export function readQueued<Q extends keyof Queued>(queue: Q, value: Buffer): Queued[Q] | undefined {
  try {
    const json = JSON.parse(value.toString()) as Json;
    return IS_QUEUED[queue](json) ? (json as unknown as Queued[Q]) : undefined;
  } catch {
    return undefined;
  }
}
