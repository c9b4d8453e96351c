import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type OrderMessage, type OutcomeSource, type Rejection } from '#libs/contracts';
import { type InboundMessage, type PartitionOwnership } from '#libs/messaging';
import { Equipment } from '../../equipment/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { Homes } from './homes.js';
import { type MessagePosition } from './message-position.js';
import { type OrderEntry } from './order-entries.js';
import { OrderLedger } from './order-ledger.js';
import { type RelayReport } from './relay-reports.js';
import { type RelayedOrders } from './relayed-orders.js';
import { type ReadMessage, sortByHome } from './sorted-message.js';
import { UnknownMachines } from './unknown-machines.js';

/** What has come by one of the bridge's own topics. */
interface Arrived<T> {
  message: InboundMessage;
  content: T;
}

/** Brings orders into the ledger: into the partition that is their home, whichever their message came through. */
@Injectable()
export class OrderIntake {
  private readonly topicPrefix: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka }: BridgeSettings,
    private readonly equipment: Equipment,
    private readonly homes: Homes,
    private readonly ledger: OrderLedger,
    private readonly unknownMachines: UnknownMachines,
  ) {
    this.topicPrefix = kafka.topicPrefix;
  }

  /** Takes messages of one partition, in the order of their offsets. Resolves once the ledger has them. */
  async take(messages: readonly ReadMessage[]): Promise<void> {
    const [first] = messages;
    if (first === undefined) return;
    const { partition, ownership } = first.answered.message;
    const homes = await this.homes.known(ownership.signal);
    const sorted = messages.map((message) => sortByHome(message, homes.ofOrder, this.topicPrefix));
    const unknownMachines = await this.unknownAmong(sorted, ownership);
    const entries = sorted.map(({ answered, source, recordedAt, orders, relay }): OrderEntry => {
      const { message } = answered;
      const position = positionOf(source, recordedAt);
      return relay === undefined
        ? { kind: 'orders', message, answered, source, position, orders, unknownMachines }
        : { kind: 'relay', message, answered, source, position, orders, unknownMachines, ...relay };
    });
    await this.ledger.take(partition, entries);
  }

  /** As {@link take}, of what has come from other partitions. */
  async takeRelayed(relayed: readonly Arrived<RelayedOrders>[]): Promise<void> {
    const [first] = relayed;
    if (first === undefined) return;
    const { partition, ownership } = first.message;
    await this.homes.known(ownership.signal);
    const told = relayed.map(({ content }) => content);
    const unknownMachines = await this.unknownAmong(told, ownership);
    const entries = relayed.map(({ message, content }): OrderEntry => {
      const { orders, source, recordedAt, reportTo } = content;
      const position = positionOf(source, recordedAt);
      return { kind: 'part', message, source, reportTo, position, orders, unknownMachines };
    });
    await this.ledger.take(partition, entries);
  }

  /** Takes what has been reported to one partition. */
  async takeReports(reports: readonly Arrived<RelayReport>[]): Promise<void> {
    const [first] = reports;
    if (first === undefined) return;
    const entries = reports.map(({ message, content }): OrderEntry => {
      return { kind: 'report', message, report: content };
    });
    await this.ledger.take(first.message.partition, entries);
  }

  private unknownAmong(
    told: readonly { orders: readonly OrderMessage[] }[],
    ownership: PartitionOwnership,
  ): Promise<ReadonlyMap<string, Rejection>> {
    const machineIds = new Set<string>();
    for (const { orders } of told) {
      for (const { order } of orders) {
        for (const operation of order.operations ?? []) {
          const machineId = this.equipment.machineOf(operation);
          if (machineId !== undefined) machineIds.add(machineId);
        }
      }
    }
    return this.unknownMachines.among(machineIds, ownership);
  }
}

function positionOf({ partition, offset }: OutcomeSource, recordedAt: number): MessagePosition {
  return { partition, offset, recordedAt };
}
