import { randomBytes } from 'node:crypto';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { everyRealMs, realDelayMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  type INTERNAL_TOPICS,
  type OrderMessage,
  type OutcomeSource,
  WORK_ORDER_QUEUES,
} from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import type { ThinEvent } from '#libs/erp-formats';
import {
  deleteCommitted,
  describeKafkaFailure,
  handleEach,
  type InboundMessage,
  type KafkaClient,
  KeyedState,
  type KeyedStateOptions,
  MayNotDeleteError,
  type OutboundRecord,
  partitionCount,
  partitionOf,
} from '#libs/kafka';
import type { AssignedOperation, MessagePosition } from '#libs/order-ledger';
import { type TraceContext, traceHeaders } from '#libs/tracing';
import type { InboundTarget, RejectedResult } from '../../delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';

/** Queues of this flow, without the prefix. Each record has its own key until it ends, see {@link OrderQueues}. */

/** {@link OrderRequest}, in the partition of the hash of the order's id in the request. */
export const ORDER_REQUESTS = WORK_ORDER_QUEUES.orderRequests;
/** {@link RelayedOrders}, in the partition of the hash of the orders' ids. */
export const RELAYED_ORDERS = WORK_ORDER_QUEUES.relayedOrders;
/** {@link AssignmentChange}, in the partition of the hash of the machine's id. */
export const ASSIGNMENT_CHANGES = WORK_ORDER_QUEUES.assignmentChanges;
/** {@link OrderRefusal}, in the partition number of its message, whose owner writes the dead letter. */
export const ORDER_REFUSALS = WORK_ORDER_QUEUES.orderRefusals;

export interface QueuedOrder {
  orderId: string;
  source: OutcomeSource;
  /** Trace context for what follows from the message. */
  trace?: TraceContext | undefined;
}

/** An order to be requested from an ERP, because a message only names it. Written again to let others go first. */
export interface OrderRequest extends QueuedOrder, ThinEvent {
  /** Real epoch milliseconds at which the message was read. */
  receivedAt: number;
  /** Requests made before the record was written again. */
  calls?: number;
  /** Its `deferred` outcome has been published. */
  isDeferred?: boolean;
}

/** The part of one message that concerns one order. */
export interface RelayedOrder extends QueuedOrder {
  /** In the order of the document; at least one. */
  messages: readonly OrderMessage[];
  /** Timestamp of the message's record, in epoch milliseconds. */
  recordedAt: number;
  /** Epoch milliseconds at which the ERP was asked for the order; absent if the message itself contains the order. */
  askedAt?: number | undefined;
  /** Why the ERP is known not to have the order. An unknown order then stays unknown. */
  gone?: string | undefined;
  /** Machines that were rejected when the message was read. */
  refused?: readonly string[] | undefined;
  /** The order was rejected then for operations without a machine. */
  wasUnmapped?: boolean | undefined;
  /** An outcome was published then. */
  isAnswered?: boolean | undefined;
}

/** Orders of messages that end together: with one record for each message, an order took a quarter more CPU. */
interface RelayedOrders {
  /** In the order of the messages; at least one. */
  orders: readonly RelayedOrder[];
}

/** The operations of one order on one machine, as changed by one message. */
interface AssignmentChange extends QueuedOrder {
  machineId: string;
  /** Empty if the order has left the machine. */
  operations: readonly AssignedOperation[];
  /** The machine was rejected, with an outcome, when the message was read: setting its list publishes no other. */
  isAnswered?: boolean | undefined;
}

/** Rejections of an order after its message was read. */
export interface OrderRefusal extends QueuedOrder {
  faults: readonly RejectedResult[];
}

/** In place of the message's partition: an answer of the ERP, and the answer that it does not have the order. */
const ASKED = -2;
const GONE = -3;

/** The position that orders equally old messages: that of the record, or when the ERP was asked. */
export function positionOf({ source, recordedAt, askedAt, gone }: RelayedOrder): MessagePosition {
  if (askedAt === undefined) {
    return { partition: source.partition, offset: source.offset, recordedAt };
  }
  const partition = gone === undefined ? ASKED : GONE;
  return { partition, offset: askedAt, recordedAt: askedAt };
}

/** Whether the order is known from the answer that its ERP does not have it. */
export function isGone({ from }: { from: MessagePosition }): boolean {
  return from.partition === GONE;
}

interface Queued {
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

/** Parses a record that the bridge wrote; undefined if it is not valid. */
function readQueued<Q extends keyof Queued>(queue: Q, value: Buffer): Queued[Q] | undefined {
  try {
    const json = JSON.parse(value.toString()) as Json;
    return IS_QUEUED[queue](json) ? (json as unknown as Queued[Q]) : undefined;
  } catch {
    return undefined;
  }
}

const COUNT_BACK_OFF = { baseMs: 200, capMs: 5000 };
const DELETE_EVERY_MS = 30_000;
/** Turns without a try where Kafka does not allow deletion, because the Kafka client logs an error each time. */
const TURNS_LEFT_OUT = 120;

/** What to do if a queue that determines partitions has grown all the same: queued orders would get lost. */
const RECREATE_LEDGER =
  'orders and machines are shared out by it and cannot move. Stop all processes, delete the topics of the order ' +
  'ledger (machine-bridge.orders.v1, …order-requests.v1, …relayed-orders.v1, …order-refusals.v1, …assignment-changes.v1 ' +
  'and …assignments.v1), start, and have the ERP send its open orders again';

/** The partition of an order or machine: the hash of its id modulo the queue's constant partition count. */
type Partitioner = (id: string) => number;

const notKnown: Partitioner = () => {
  throw new Error('partition counts have not been read yet');
};

/** Identifies this process, which numbers its records: random digits for each record take longer. */
const PROCESS_ID = randomBytes(6).toString('hex');
let recordsMade = 0;

/** Handles a record of a queue; `ending` is to be written with its end. */
export type HandleQueued<Q extends keyof Queued> = (
  message: InboundMessage,
  content: Queued[Q],
  ending: readonly OutboundRecord[],
) => void;

/**
 * Writes the records of the queues and hands them to their handlers. Deletes committed records, for the queues would
 * grow without limit. Where Kafka forbids that, each record gets a tombstone at its end, and compaction removes it.
 */
@Injectable()
export class OrderQueues implements OnModuleDestroy {
  /** Set by {@link readPartitionCounts}. */
  partitionOfOrder = notKnown;
  partitionOfMachine = notKnown;
  private areKnown = false;
  private readonly logger = new Logger('Queues');
  /** Queues whose records Kafka has let the bridge delete. */
  private readonly deletable = new Set<string>();
  /** Turns left without a try, by queue. */
  private readonly turnsLeftOut = new Map<string, number>();
  private stopDeleting: (() => void) | undefined;
  private isDeleting = false;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {}

  onModuleDestroy(): void {
    this.stopDeleting?.();
  }

  /** Reads the partition counts once, retrying until Kafka answers. Rejects only when aborted. */
  async readPartitionCounts(signal: AbortSignal): Promise<void> {
    if (this.areKnown) return;
    this.partitionOfOrder = await this.partitionerOf(RELAYED_ORDERS, signal);
    this.partitionOfMachine = await this.partitionerOf(ASSIGNMENT_CHANGES, signal);
    this.areKnown = true;
  }

  private async partitionerOf(queue: string, signal: AbortSignal): Promise<Partitioner> {
    const topic = this.fullName(queue);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const count = await partitionCount(this.kafka, topic);
        return (id) => partitionOf(id, count);
      } catch (error) {
        const why = describeKafkaFailure(error);
        this.logger.warn({ msg: 'partitions not known', topic, error: why });
        await realDelayMs(backOffMs(attempt, COUNT_BACK_OFF), signal);
      }
    }
  }

  /** Keyed state that follows from a queue, in the partitions of that queue. */
  stateOf<V, H>(
    queue: typeof RELAYED_ORDERS | typeof ASSIGNMENT_CHANGES,
    topic: (typeof INTERNAL_TOPICS)[keyof typeof INTERNAL_TOPICS],
    options: Pick<KeyedStateOptions<V, H>, 'format' | 'parse' | 'onOwned'>,
  ): KeyedState<V, H> {
    return new KeyedState<V, H>({
      ...options,
      kafka: this.kafka,
      name: this.fullName(topic),
      inputs: [this.fullName(queue)],
      placement: { topic: this.fullName(queue), whenGrown: RECREATE_LEDGER },
      transactionalIdPrefix: this.settings.kafka.groupId,
    });
  }

  /** @param trace the trace context of the only message in the record */
  queueRecord<Q extends keyof Queued>(
    queue: Q,
    partition: number,
    content: Queued[Q],
    trace?: TraceContext,
  ): OutboundRecord {
    recordsMade += 1;
    return {
      topic: this.fullName(queue),
      partition,
      key: `${PROCESS_ID}-${recordsMade}`,
      value: JSON.stringify(content),
      headers: traceHeaders(trace),
    };
  }

  /** Hands over records of a queue once partitions are known; dead-letters unreadable ones. */
  async handleQueue<Q extends keyof Queued>(
    queue: Q,
    messages: readonly InboundMessage[],
    handle: HandleQueued<Q>,
  ): Promise<void> {
    const [first] = messages;
    if (first !== undefined) await this.readPartitionCounts(first.revoked);
    this.stopDeleting ??= this.startDeleting();
    handleEach(messages, (message) => {
      const { value, unreadable } = message;
      const content = value === null ? undefined : readQueued(queue, value);
      if (content !== undefined) handle(message, content, this.tombstone(queue, message));
      else if (value === null && unreadable === undefined) message.finish();
      else message.fail(new Error('unreadable, or not written by this version of the bridge'));
    });
  }

  /** The outcome target of the input message, for the owner of an order or machine: refusals go to its partition. */
  outcomeTarget(
    message: InboundMessage,
    { orderId, source, trace = message.span.context }: QueuedOrder,
    more?: Pick<InboundTarget, 'hasOutcome' | 'records' | 'whenRefused'>,
  ): InboundTarget {
    return {
      message,
      source,
      orderId,
      trace,
      refusal: (found) => {
        const faults = found.map((fault) => ({ ...fault, orderId }));
        const refusal = { orderId, source, faults, trace };
        return this.queueRecord(ORDER_REFUSALS, source.partition, refusal);
      },
      ...more,
    };
  }

  private tombstone(queue: string, { partition, key }: InboundMessage): readonly OutboundRecord[] {
    if (this.deletable.has(queue)) return [];
    return [{ topic: this.fullName(queue), partition, key, value: null, headers: {} }];
  }

  private startDeleting(): () => void {
    void this.deleteCommitted();
    return everyRealMs(DELETE_EVERY_MS, () => void this.deleteCommitted());
  }

  /** Never rejects. */
  private async deleteCommitted(): Promise<void> {
    if (this.isDeleting) return;
    this.isDeleting = true;
    for (const queue of Object.values(WORK_ORDER_QUEUES)) {
      const turns = this.turnsLeftOut.get(queue) ?? 0;
      this.turnsLeftOut.set(queue, turns - 1);
      if (turns > 0) continue;
      try {
        await deleteCommitted(this.kafka, this.settings.kafka.groupId, this.fullName(queue));
        this.deletable.add(queue);
      } catch (error) {
        this.logNotDeleted(queue, error);
      }
    }
    this.isDeleting = false;
  }

  private logNotDeleted(name: string, error: unknown): void {
    const queue = this.fullName(name);
    if (!(error instanceof MayNotDeleteError)) {
      const why = describeKafkaFailure(error, { right: 'Delete', topics: [queue] });
      this.logger.warn({ msg: 'queue not shortened, will try again', queue, error: why });
      return;
    }
    this.deletable.delete(name);
    this.turnsLeftOut.set(name, TURNS_LEFT_OUT);
    this.logger.log({ msg: 'queue is shortened by tombstones', queue, why: error.why });
  }

  private fullName(name: string): string {
    return `${this.settings.kafka.topicPrefix}${name}`;
  }
}
