import { Inject, Injectable } from '@nestjs/common';
import { Clock, realEpochMs, whenAnyAborts } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  type Envelope,
  isFinishedStatus,
  openEnvelope,
  type OrderMessage,
  type Parsed,
  type Rejection,
} from '#libs/contracts';
import {
  groupBy,
  OrderMapping,
  readOrders,
  sourceTopicOf,
  type ThinEvent,
} from '#libs/erp-formats';
import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { rejectUnmapped, unmappedOperations } from '#libs/order-ledger';
import {
  CommandOutcomes,
  type CommandResult,
  type InboundTarget,
  notStored,
  rejection,
} from '../../delivery/index.js';
import { LOOK_UP_GAP_MS, MachineDirectory } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { Equipment, UnmappedWorkCentres } from '../equipment/equipment.js';
import { ORDER_REQUESTS, OrderQueues, RELAYED_ORDERS, type RelayedOrder } from './order-queues.js';

/** The longest wait for look-ups, which delays later messages. Machines are checked again before their calls. */
const PATIENCE_MS = LOOK_UP_GAP_MS + 1000;

/** The rejection of each machine that does not exist. */
type UnlistedMachines = ReadonlyMap<string, Rejection>;

/** The fields that all orders of a message share. */
type RelayedFrom = Pick<RelayedOrder, 'source' | 'recordedAt' | 'trace' | 'askedAt' | 'gone'>;

/** An input message, and its orders or the order to be requested from the ERP. */
interface ReadMessage {
  target: InboundTarget;
  content: Content;
}

type Content = OrderMessage[] | ThinEvent;

/**
 * Reads `erp.work-orders.v1`: orders as they change, in the ERP's format. What can be rejected from the document alone is
 * dead-lettered here. Each order goes on to the partition of its id in the same transaction, and so does a thin event
 * to the queue of order requests.
 */
@Injectable()
export class OrderRelay {
  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly mapping: OrderMapping,
    private readonly queues: OrderQueues,
    private readonly equipment: Equipment,
    private readonly unmapped: UnmappedWorkCentres,
    private readonly directory: MachineDirectory,
    private readonly outcomes: CommandOutcomes,
  ) {}

  /** Reads messages of `erp.work-orders.v1` and relays their orders. Resolves once the messages' records are handed over. */
  async relayDocuments(messages: readonly InboundMessage[]): Promise<void> {
    const read: ReadMessage[] = [];
    for (const message of messages) {
      if (message.revoked.aborted) {
        // A document may take seconds to read, and the partition's next owner reads it again.
        message.abandon();
        continue;
      }
      try {
        const envelope = openEnvelope(message);
        const target = this.outcomes.targetOf(message, envelope, true);
        const reading = envelope.ok ? this.readMessage(message, envelope.value) : envelope;
        // Awaiting a result that is there already would cost as much as reading the document.
        const content = reading instanceof Promise ? await reading : reading;
        if (content.ok) read.push({ target, content: content.value });
        else message.finish(this.outcomes.resultRecords(target, [rejection(content.rejection)]));
      } catch (error) {
        message.fail(error);
      }
    }
    const [first] = read;
    if (first === undefined) return;
    const { revoked } = first.target.message;
    await this.queues.readPartitionCounts(revoked);
    const orders = read.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    this.finishWithRelayed(read, await this.refuseUnlisted(orders, revoked));
  }

  private readMessage(
    message: InboundMessage,
    envelope: Envelope,
  ): Parsed<Content> | Promise<Parsed<Content>> {
    const { erp } = this.settings;
    const thin = erp.enrichment.findThinEvent(message, envelope);
    if (thin !== undefined) return thin;
    const { contentType, body } = envelope;
    // Epoch seconds; the time of changes without a time of their own.
    const recordedAt = Math.floor(Number(message.timestamp) / 1000);
    const document = { contentType, body, sourceTopic: sourceTopicOf(message), recordedAt };
    return readOrders(document, erp, this.mapping, this.clock.nowSeconds());
  }

  /** Ends the messages with the records of their orders and rejections. */
  private finishWithRelayed(read: readonly ReadMessage[], unlisted: UnlistedMachines): void {
    const allRelayed: RelayedOrder[] = [];
    const records: OutboundRecord[] = [];
    for (const { target, content } of read) {
      const { source } = target;
      const trace = target.message.span.context;
      if (!Array.isArray(content)) {
        const request = { ...content, source, receivedAt: realEpochMs(), trace };
        const partition = this.queues.partitionOfOrder(content.orderId);
        records.push(this.queues.queueRecord(ORDER_REQUESTS, partition, request, trace));
        continue;
      }
      const from = { source, recordedAt: Number(target.message.timestamp), trace };
      const { relayed, faults } = this.relayOrders(content, from, unlisted);
      allRelayed.push(...relayed);
      if (faults.length > 0) records.push(...this.outcomes.resultRecords(target, faults));
    }
    records.push(...this.relayRecords(allRelayed));
    const [first, ...others] = read;
    if (first === undefined) return;
    first.target.message.finishWith(
      others.map(({ target }) => target.message),
      records,
      (apart, refusal) => {
        if (others.length === 0)
          apart.finish(this.outcomes.resultRecords(first.target, [notStored(refusal)]));
        else {
          const its = read.filter(({ target }) => target.message === apart);
          this.finishWithRelayed(its, unlisted);
        }
      },
    );
  }

  /** Machines with work that is not over; for finished work a machine need not exist any more. */
  private machinesOf(orders: readonly OrderMessage[]): Set<string> {
    const machineIds = new Set<string>();
    for (const { order } of orders) {
      const { status: ofOrder = 'planned' } = order;
      for (const operation of isFinishedStatus(ofOrder) ? [] : (order.operations ?? [])) {
        if (isFinishedStatus(operation.status ?? ofOrder)) continue;
        const machineId = this.equipment.machineOf(operation);
        if (machineId !== undefined) machineIds.add(machineId);
      }
    }
    return machineIds;
  }

  /** Rejects machines of the orders that do not exist, before the orders are put on them. Never rejects its promise. */
  async refuseUnlisted(
    orders: readonly OrderMessage[],
    revoked: AbortSignal,
  ): Promise<UnlistedMachines> {
    const toLookUp = [...this.machinesOf(orders)].filter((id) => !this.directory.hasMachine(id));
    const unlisted = new Map<string, Rejection>();
    if (toLookUp.length === 0) return unlisted;
    const { signal, release } = whenAnyAborts(revoked, AbortSignal.timeout(PATIENCE_MS));
    await Promise.all(
      toLookUp.map(async (machineId) => {
        try {
          const admission = await this.directory.admitMachine(machineId, signal);
          if (admission.kind === 'rejected') unlisted.set(machineId, admission.rejection);
        } catch {
          // The wait was too long, or the partition was revoked.
        }
      }),
    );
    release();
    return unlisted;
  }

  /** The orders to relay, and the results that need no ledger. */
  relayOrders(
    orders: readonly OrderMessage[],
    from: RelayedFrom,
    unlisted: UnlistedMachines,
  ): { relayed: RelayedOrder[]; faults: CommandResult[] } {
    const byOrder = groupBy(orders, ({ order }) => order.orderId);
    const faults: CommandResult[] = [];
    const relayed = [...byOrder].map(([orderId, messages]): RelayedOrder => {
      const found = this.faultsOf(orderId, messages, unlisted);
      faults.push(...found);
      const order = { orderId, messages, ...from };
      if (found.length === 0) return order;
      const refused = found.flatMap(({ machineId }) => machineId ?? []);
      const wasUnmapped = found.some(({ machineId }) => machineId === null);
      return { ...order, refused, wasUnmapped, isAnswered: true };
    });
    // The document has no order.
    if (relayed.length === 0) {
      const appliedAt = this.clock.nowSeconds();
      faults.push({ kind: 'applied', machineId: null, attempts: 0, appliedAt });
    }
    return { relayed, faults };
  }

  relayRecords(relayed: readonly RelayedOrder[]): OutboundRecord[] {
    const byPartition = groupBy(relayed, ({ orderId }) => this.queues.partitionOfOrder(orderId));
    return [...byPartition].map(([partition, orders]) =>
      this.queues.queueRecord(RELAYED_ORDERS, partition, { orders }),
    );
  }

  private faultsOf(
    orderId: string,
    messages: readonly OrderMessage[],
    unlisted: UnlistedMachines,
  ): CommandResult[] {
    const faults: CommandResult[] = [];
    for (const each of messages) {
      // Only the ledger knows the machines of a change.
      if (each.kind === 'change') continue;
      const unmapped = unmappedOperations(each.order, this.equipment.machineOf);
      if (unmapped.length === 0) continue;
      for (const operation of unmapped) this.unmapped.addPlace(orderId, operation);
      faults.push({ ...rejection(rejectUnmapped(orderId, unmapped)), orderId });
    }
    if (unlisted.size === 0) return faults;
    for (const machineId of this.machinesOf(messages)) {
      const refusal = unlisted.get(machineId);
      if (refusal !== undefined) faults.push({ ...rejection(refusal, machineId), orderId });
    }
    return faults;
  }
}
