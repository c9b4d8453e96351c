import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { afterRealMs, Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  type Envelope,
  openMessage,
  type OrderMessage,
  type Parsed,
  type Rejection,
  TOPICS,
} from '#libs/contracts';
import { type OrderDocument, OrderMapping, readOrders, sourceTopicOf } from '#libs/erp-formats';
import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { placeOrder, rejectUnmapped } from '#libs/order-ledger';
import {
  type AnsweredMessage,
  CommandOutcomes,
  type CommandResult,
  notTaken,
  rejection,
} from '../../delivery/index.js';
import { Equipment, UnmappedWorkCentres } from '../../equipment/index.js';
import { LOOK_UP_GAP_MS, MachineDirectory } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { queueRecord, RELAYED_ORDERS, type RelayedOrder } from './queues.js';
import { type Partitioner, OrderPartitioner } from './order-partitioner.js';

/** A message of the input, and the orders in it. */
interface ReadMessage {
  answered: AnsweredMessage;
  orders: readonly OrderMessage[];
}

/** Why each machine is refused that does not exist. */
type Unknown = ReadonlyMap<string, Rejection>;

/**
 * `erp.work-orders.v1`: orders as they change, in the ERP's own format. What can be refused of a document is refused
 * here, and dead-lettered; each of its orders goes on to the partition of its id, in the same transaction.
 */
@Controller()
export class WorkOrdersController {
  private readonly topicPrefix: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly mapping: OrderMapping,
    private readonly equipment: Equipment,
    private readonly unmapped: UnmappedWorkCentres,
    private readonly directory: MachineDirectory,
    private readonly partitioner: OrderPartitioner,
    private readonly outcomes: CommandOutcomes,
  ) {
    this.topicPrefix = settings.kafka.topicPrefix;
  }

  /** Resolves once the messages have ended: those behind them must not overtake them. */
  @EventPattern(TOPICS.workOrders)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    const read: ReadMessage[] = [];
    for (const message of messages) {
      if (message.revoked.aborted) {
        // a document may take seconds, and its next owner reads it anew
        message.abandon();
        continue;
      }
      try {
        const document = this.read(message);
        // to wait for what is there already would cost as much as to read it
        const there = document instanceof Promise ? await document : document;
        if (there !== undefined) read.push(there);
      } catch (error) {
        message.fail(error);
      }
    }
    const [first] = read;
    if (first === undefined) return;
    const { revoked } = first.answered.message;
    const { ofOrder } = await this.partitioner.known(revoked);
    const unknown = await refuseUnlisted(this.directory, this.machinesOf(read), revoked);
    this.relay(read, ofOrder, unknown);
  }

  private read(
    message: InboundMessage,
  ): ReadMessage | undefined | Promise<ReadMessage | undefined> {
    const { messageId, envelope } = openMessage(message);
    const answered = { message, messageId };
    if (!envelope.ok) return this.asRead(answered, envelope);
    const document = documentOf(message, envelope.value);
    const orders = readOrders(document, this.settings.erp, this.mapping, this.clock.nowSeconds());
    return orders instanceof Promise
      ? orders.then((read) => this.asRead(answered, read))
      : this.asRead(answered, orders);
  }

  /** Undefined where it is refused, which is answered here. */
  private asRead(
    answered: AnsweredMessage,
    orders: Parsed<OrderMessage[]>,
  ): ReadMessage | undefined {
    if (orders.ok) return { answered, orders: orders.value };
    answered.message.finish(this.outcomesOf(answered, [rejection(orders.rejection)]));
    return undefined;
  }

  private machinesOf(read: readonly ReadMessage[]): Set<string> {
    const machineIds = new Set<string>();
    for (const { orders } of read) {
      for (const { order } of orders) this.noteMachines(order, machineIds);
    }
    return machineIds;
  }

  private noteMachines({ operations = [] }: OrderMessage['order'], machineIds: Set<string>): void {
    for (const operation of operations) {
      const machineId = this.equipment.machineOf(operation);
      if (machineId !== undefined) machineIds.add(machineId);
    }
  }

  /** Ends messages with records of their orders, and with what is refused of them. */
  private relay(read: readonly ReadMessage[], ofOrder: Partitioner, unknown: Unknown): void {
    const byPartition = new Map<number, RelayedOrder[]>();
    const records: OutboundRecord[] = [];
    for (const each of read) {
      const { relayed, faults } = this.toRelay(each, unknown);
      for (const order of relayed) append(byPartition, ofOrder(order.orderId), order);
      if (faults.length > 0) records.push(...this.outcomesOf(each.answered, faults));
    }
    for (const [partition, orders] of byPartition) {
      records.push(queueRecord(this.topicPrefix, RELAYED_ORDERS, partition, { orders }));
    }
    const [first, ...others] = read;
    if (first === undefined) return;
    const { message } = first.answered;
    if (others.length === 0) {
      message.finish(records, (refusal) => this.outcomesOf(first.answered, [notTaken(refusal)]));
      return;
    }
    message.finishWith(
      others.map(({ answered }) => answered.message),
      records,
      (apart) => {
        const its = read.filter(({ answered }) => answered.message === apart);
        this.relay(its, ofOrder, unknown);
      },
    );
  }

  private toRelay(
    { answered, orders }: ReadMessage,
    unknown: Unknown,
  ): { relayed: RelayedOrder[]; faults: CommandResult[] } {
    const source = this.outcomes.sourceOf(answered);
    const recordedAt = Number(answered.message.timestamp);
    const trace = answered.message.span.context;
    const byOrder = new Map<string, OrderMessage[]>();
    for (const each of orders) append(byOrder, each.order.orderId, each);
    const faults: CommandResult[] = [];
    const relayed = [...byOrder].map(([orderId, messages]): RelayedOrder => {
      const found = this.faultsOf(orderId, messages, unknown);
      faults.push(...found);
      const order = { orderId, messages, source, recordedAt, trace };
      if (found.length === 0) return order;
      const refused = found.flatMap(({ machineId }) => machineId ?? []);
      return { ...order, refused, isAnswered: true };
    });
    if (relayed.length === 0) faults.push(nothingToDo(this.clock.nowSeconds()));
    if (faults.length > 0) {
      answered.namesOthers = this.machinesOf([{ answered, orders }]).size > 1;
    }
    return { relayed, faults };
  }

  private faultsOf(
    orderId: string,
    messages: readonly OrderMessage[],
    unknown: Unknown,
  ): CommandResult[] {
    const faults: CommandResult[] = [];
    const machineIds = new Set<string>();
    for (const each of messages) {
      if (unknown.size > 0) this.noteMachines(each.order, machineIds);
      // where the operations of a change are done is known to the ledger alone
      if (each.kind === 'change') continue;
      const { unmapped } = placeOrder(each.order, (operation) =>
        this.equipment.machineOf(operation),
      );
      if (unmapped.length === 0) continue;
      for (const operation of unmapped) this.unmapped.note(orderId, operation);
      faults.push({ ...rejection(rejectUnmapped(orderId, unmapped)), orderId });
    }
    for (const machineId of machineIds) {
      const refusal = unknown.get(machineId);
      if (refusal !== undefined) faults.push({ ...rejection(refusal, machineId), orderId });
    }
    return faults;
  }

  private outcomesOf(
    answered: AnsweredMessage,
    results: readonly CommandResult[],
  ): readonly OutboundRecord[] {
    return this.outcomes.recordsOf('work-order-list', answered, results);
  }
}

function append<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/** Of a document without an order. */
function nothingToDo(appliedAt: number): CommandResult {
  return { kind: 'applied', machineId: null, attempts: 0, appliedAt };
}

function documentOf(message: InboundMessage, { contentType, body }: Envelope): OrderDocument {
  // Epoch seconds: dates what carries no time of its own.
  const recordedAt = Math.floor(Number(message.timestamp) / 1000);
  return { contentType, body, sourceTopic: sourceTopicOf(message), recordedAt };
}

/**
 * Everything behind it waits meanwhile; afterwards the machine counts as known, and is judged when it is
 * called. A look-up may have to wait for the gap after the last one, and then takes its time.
 */
const PATIENCE_MS = LOOK_UP_GAP_MS + 1000;

/** Why each of the machines that does not exist is refused, before orders are put on it. Never rejects. */
export async function refuseUnlisted(
  directory: MachineDirectory,
  machineIds: ReadonlySet<string>,
  revoked: AbortSignal,
): Promise<Unknown> {
  const unlisted = [...machineIds].filter((id) => !directory.hasMachine(id));
  const refusals = new Map<string, Rejection>();
  if (unlisted.length === 0) return refusals;
  const patience = new AbortController();
  const cancel = afterRealMs(PATIENCE_MS, () => {
    patience.abort(new Error('the look-up of machines takes too long'));
  });
  const signal = AbortSignal.any([revoked, patience.signal]);
  await Promise.all(
    unlisted.map(async (machineId) => {
      try {
        const admission = await directory.admitMachine(machineId, signal);
        if (admission.kind === 'rejected') refusals.set(machineId, admission.rejection);
      } catch {
        // Out of patience, or the partition is lost.
      }
    }),
  );
  cancel();
  return refusals;
}
