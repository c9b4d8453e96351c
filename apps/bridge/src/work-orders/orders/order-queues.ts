import { randomBytes } from 'node:crypto';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { type OrderMessage, type OutcomeSource, WORK_ORDER_QUEUES } from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import type { ThinEvent } from '#libs/erp-formats';
import {
  describeKafkaFailure,
  handleEach,
  type InboundMessage,
  type KafkaClient,
  type OutboundRecord,
  partitionCount,
  partitionOf,
} from '#libs/kafka';
import type { AssignedOperation } from '#libs/order-ledger';
import { type TraceContext, traceHeaders } from '#libs/tracing';
import type { InboundTarget, RejectedResult } from '../../delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { QueuePurge } from './queue-purge.js';

/** Queues of this flow, without the prefix. Each record has its own key until it ends, see {@link OrderQueues}. */

/** {@link OrderRequest}, in the partition of the hash of the order's id in the request. */
export const ORDER_REQUESTS = WORK_ORDER_QUEUES.orderRequests;
/** {@link RelayedOrders}, in the partition of the hash of the orders' ids. */
export const RELAYED_ORDERS = WORK_ORDER_QUEUES.relayedOrders;
/** {@link AssignmentChange}, in the partition of the hash of the machine's id. */
export const ASSIGNMENT_CHANGES = WORK_ORDER_QUEUES.assignmentChanges;
/** {@link OrderRefusal}, in the partition number of its message, whose owner writes the dead letter. */
export const ORDER_REFUSALS = WORK_ORDER_QUEUES.orderRefusals;

interface QueuedOrder {
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
 * Writes the records of the queues and hands them to their handlers. They are deleted once they are committed; where
 * Kafka forbids that, each gets a tombstone at its end, and compaction removes it.
 */
@Injectable()
export class OrderQueues implements OnModuleDestroy {
  /** Set by {@link readPartitionCounts}. */
  partitionOfOrder = notKnown;
  partitionOfMachine = notKnown;
  private readonly logger = new Logger('Queues');
  private readonly purge: QueuePurge;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    const queues = Object.values(WORK_ORDER_QUEUES).map((name) => this.fullName(name));
    this.purge = new QueuePurge(kafka, settings.kafka.groupId, queues);
  }

  onModuleDestroy(): void {
    this.purge.stopPurging();
  }

  /** Reads the partition counts once, retrying until Kafka answers. Rejects only when aborted. */
  async readPartitionCounts(signal: AbortSignal): Promise<void> {
    if (this.partitionOfMachine !== notKnown) return;
    this.partitionOfOrder = await this.partitionerOf(RELAYED_ORDERS, signal);
    this.partitionOfMachine = await this.partitionerOf(ASSIGNMENT_CHANGES, signal);
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
    this.purge.startPurging();
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
    const topic = this.fullName(queue);
    return this.purge.mayPurge(topic) ? [] : [{ topic, partition, key, value: null, headers: {} }];
  }

  fullName(name: string): string {
    return `${this.settings.kafka.topicPrefix}${name}`;
  }
}
