import { Injectable } from '@nestjs/common';
import { afterRealMs, Clock, whenAnyAborts } from '#libs/clock';
import { isFinishedStatus, type OrderMessage, type Rejection } from '#libs/contracts';
import { groupBy } from '#libs/erp-formats';
import type { OutboundRecord } from '#libs/kafka';
import { placeOrder, rejectUnmapped } from '#libs/order-ledger';
import { type CommandResult, rejection } from '../../delivery/index.js';
import { LOOK_UP_GAP_MS, MachineDirectory } from '../../machine-directory/index.js';
import { Equipment, UnmappedWorkCentres } from '../equipment/equipment.js';
import { OrderQueues, RELAYED_ORDERS, type RelayedOrder } from './order-queues.js';

/** The longest wait for look-ups, which delays later messages. Machines are checked again before their calls. */
const PATIENCE_MS = LOOK_UP_GAP_MS + 1000;

/** The rejection of each machine that does not exist. */
export type UnlistedMachines = ReadonlyMap<string, Rejection>;

/** The fields that all orders of a message share. */
type RelayedFrom = Pick<RelayedOrder, 'source' | 'recordedAt' | 'trace' | 'askedAt'>;

/** Relays orders to the partitions of their ids, and rejects what can be rejected before that. */
@Injectable()
export class OrderRelay {
  constructor(
    private readonly queues: OrderQueues,
    private readonly clock: Clock,
    private readonly equipment: Equipment,
    private readonly unmapped: UnmappedWorkCentres,
    private readonly directory: MachineDirectory,
  ) {}

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
    const machineIds = [...this.machinesOf(orders)];
    const unlisted = machineIds.filter((id) => !this.directory.hasMachine(id));
    const refusals = new Map<string, Rejection>();
    if (unlisted.length === 0) return refusals;
    const patience = new AbortController();
    const cancel = afterRealMs(PATIENCE_MS, () => {
      patience.abort(new Error('the look-up of machines takes too long'));
    });
    const { signal, release } = whenAnyAborts(revoked, patience.signal);
    await Promise.all(
      unlisted.map(async (machineId) => {
        try {
          const admission = await this.directory.admitMachine(machineId, signal);
          if (admission.kind === 'rejected') refusals.set(machineId, admission.rejection);
        } catch {
          // The wait was too long, or the partition was revoked.
        }
      }),
    );
    cancel();
    release();
    return refusals;
  }

  relayOrders(
    orders: readonly OrderMessage[],
    from: RelayedFrom,
    unknown: UnlistedMachines,
  ): { relayed: RelayedOrder[]; faults: CommandResult[] } {
    const byOrder = groupBy(orders, ({ order }) => order.orderId);
    const faults: CommandResult[] = [];
    const relayed = [...byOrder].map(([orderId, messages]): RelayedOrder => {
      const found = this.faultsOf(orderId, messages, unknown);
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
    unknown: UnlistedMachines,
  ): CommandResult[] {
    const faults: CommandResult[] = [];
    for (const each of messages) {
      // Only the ledger knows the machines of a change.
      if (each.kind === 'change') continue;
      const { unmapped } = placeOrder(each.order, this.equipment.machineOf);
      if (unmapped.length === 0) continue;
      for (const operation of unmapped) this.unmapped.addPlace(orderId, operation);
      faults.push({ ...rejection(rejectUnmapped(orderId, unmapped)), orderId });
    }
    if (unknown.size === 0) return faults;
    for (const machineId of this.machinesOf(messages)) {
      const refusal = unknown.get(machineId);
      if (refusal !== undefined) faults.push({ ...rejection(refusal, machineId), orderId });
    }
    return faults;
  }
}
